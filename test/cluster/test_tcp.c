/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks find each other by TCP, whatever strangers do; and are told what is wrong, by the deadline at the latest.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "crew.h"
#include "../../src/cluster/tcp.h"

enum { HOST = 1, LARGE = 300000, STRANGERS = 100 };

/* What the ranks of a test share. */
typedef struct table {
    nbcoll_tcp_id id;
    atomic_int is_made, count;
} table;

static table *fresh_table(void)
{
    return shared_memory(sizeof(table));
}

static nbcoll_tcp_config config_of(int rank, int ranks, uint64_t timeout)
{
    return (nbcoll_tcp_config){.size = sizeof(nbcoll_tcp_config), .rank = rank, .ranks = ranks, .timeout = timeout};
}

static void await(atomic_int *word, int value)
{
    while (atomic_load(word) < value)
        sched_yield();
}

/* The host makes the id, the others take it. */
static nbcoll_tcp *meet(table *t, int rank, int ranks, uint64_t timeout)
{
    const nbcoll_tcp_config config = config_of(rank, ranks, timeout);
    nbcoll_tcp *tcp;

    if (rank == HOST) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_create(&config, &t->id, &tcp));
        atomic_store(&t->is_made, 1);
        return tcp;
    }
    await(&t->is_made, 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_join(&config, &t->id, &tcp));
    return tcp;
}

static void exchange_well(nbcoll_tcp *tcp, int rank, int ranks, size_t bytes)
{
    unsigned char *mine = malloc(bytes), *all = malloc(bytes * (size_t)ranks);

    memset(mine, rank + 1, bytes);
    CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_exchange(tcp, mine, all, bytes));
    for (size_t i = 0; i < bytes * (size_t)ranks; i++)
        CHECK(all[i] == i / bytes + 1);
    free(mine);
    free(all);
}

/* Address of this machine's loopback, with the port of an id. */
static struct sockaddr_in of_host(const table *t)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(t->id.text + 33))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

/* ---- what goes well ---------------------------------------------------------------------------------------------- */

static void a_proof_is_the_hash_that_its_authors_publish(void **state)
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    const uint64_t word[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    (void)state;
    assert_true(nbcolli_tcp_hash(key, word, 0) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(nbcolli_tcp_hash(key, word, 1) == UINT64_C(0x93f5f5799a932462));
    assert_true(nbcolli_tcp_hash(key, word, 2) == UINT64_C(0x3f2acc7f57c29bdb));
}

static void exchange_thrice(int rank, void *user)
{
    nbcoll_tcp *tcp = meet(user, rank, 5, 30 * SECOND);
    for (size_t bytes = 1; bytes <= LARGE; bytes += LARGE / 2)
        exchange_well(tcp, rank, 5, bytes);
    nbcoll_tcp_close(tcp);
}

static void every_rank_gets_what_all_have(void **state)
{
    const crew c = CREW(1, 1, 1, 1, 1);
    (void)state;
    crew_succeeds(&c, exchange_thrice, fresh_table());
}

static void a_rank_alone_has_what_all_have(void **state)
{
    const nbcoll_tcp_config config = config_of(0, 1, 0);
    nbcoll_tcp_id id;
    nbcoll_tcp *tcp;
    int mine = 7, all = 0;

    (void)state;
    assert_int_equal(nbcoll_tcp_create(&config, &id, &tcp), NBCOLL_OK);
    assert_int_equal(nbcoll_tcp_exchange(tcp, &mine, &all, sizeof mine), NBCOLL_OK);
    assert_int_equal(all, 7);
    nbcoll_tcp_close(tcp);
}

/* 203.0.113.1 is nobody's (RFC 5737): it does not answer, or there is no way to it. */
static void take_the_long_way(int rank, void *user)
{
    table *t = user;
    nbcoll_tcp *tcp = rank == HOST ? meet(t, rank, 2, 30 * SECOND) : NULL;

    if (rank != HOST) {
        const nbcoll_tcp_config config = config_of(rank, 2, 30 * SECOND);
        nbcoll_tcp_id id;
        await(&t->is_made, 1);
        snprintf(id.text, sizeof id.text, "%.33s%d-203.0.113.1,127.0.0.1", t->id.text, atoi(t->id.text + 33));
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_join(&config, &id, &tcp));
    }
    uint64_t since = clock_ns();
    exchange_well(tcp, rank, 2, 8);
    CHECK(clock_ns() - since < 20 * SECOND); /* not after the first address has been given up */
    nbcoll_tcp_close(tcp);
}

static void all_addresses_are_tried_at_once(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, take_the_long_way, fresh_table());
}

/* ---- strangers --------------------------------------------------------------------------------------------------- */

static int knock(const table *t)
{
    struct sockaddr_in at = of_host(t);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

/* Many that say nothing, say too little, or too much; then the rank that was waited for. */
static void come_after_strangers(int rank, void *user)
{
    table *t = user;
    nbcoll_tcp *tcp = meet(t, rank, 2, 30 * SECOND);
    int stranger[STRANGERS];
    char noise[4096];

    if (rank != HOST) {
        memset(noise, 'x', sizeof noise);
        for (int i = 0; i < STRANGERS; i++) {
            stranger[i] = knock(t);
            send(stranger[i], noise, i % 3 == 0 ? 0 : i % 3 == 1 ? 10 : sizeof noise, MSG_NOSIGNAL);
        }
        for (int i = 2; i < STRANGERS; i += 3) /* the noise was not what was asked for */
            while (recv(stranger[i], noise, sizeof noise, 0) > 0)
                ;
    }
    exchange_well(tcp, rank, 2, 8);
    for (int i = 0; i < STRANGERS && rank != HOST; i++)
        close(stranger[i]);
    nbcoll_tcp_close(tcp);
}

static void strangers_are_turned_away(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, come_after_strangers, fresh_table());
}

/* From 127.0.0.`from`: connects and hears the host's hello, by which it has been let in. */
static int be_let_in(const table *t, int from, nbcolli_tcp_hello *hello)
{
    struct sockaddr_in at = of_host(t), own = {.sin_family = AF_INET,
                                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (uint32_t)from)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&own, sizeof own) == 0);
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(recv(fd, hello, sizeof *hello, MSG_WAITALL) == sizeof *hello);
    return fd;
}

/* A rank is let in, then so many that say nothing; then the rank answers. */
typedef struct flood {
    table t;
    int newcomers, from;
} flood;

static void answer_behind_newcomers(int rank, void *user)
{
    flood *f = user;
    nbcoll_tcp *tcp = meet(&f->t, rank, 2, 30 * SECOND);
    nbcolli_tcp_hello hello, other;
    nbcolli_tcp_reply reply = {.magic = NBCOLLI_TCP_MAGIC, .round = 1, .bytes = 1, .rank = 0, .ranks = 2};
    uint64_t proof, verdict = NBCOLL_ERR_TIMEOUT;
    char mine = 1, all[2];

    if (rank == HOST)
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_exchange(tcp, &mine, all, 1));
    else {
        int fd = be_let_in(&f->t, 1, &hello), newcomer[600];
        for (int i = 0; i < f->newcomers; i++)
            newcomer[i] = be_let_in(&f->t, f->from, &other);
        reply.proof = nbcolli_tcp_proof_of_guest(tcp, &hello, &reply);
        CHECK(send(fd, &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply);
        CHECK(recv(fd, &proof, sizeof proof, MSG_WAITALL) == sizeof proof);
        CHECK(send(fd, &mine, 1, MSG_NOSIGNAL) == 1);
        CHECK(recv(fd, &verdict, sizeof verdict, MSG_WAITALL) == sizeof verdict && verdict == NBCOLL_OK);
        for (int i = 0; i < f->newcomers; i++)
            close(newcomer[i]);
        close(fd);
    }
    nbcoll_tcp_close(tcp);
}

static void a_rank_is_heard_behind_many_that_say_nothing(void **state)
{
    flood *f = shared_memory(sizeof *f);
    (void)state;
    *f = (flood){.newcomers = 120, .from = 1};
    crew_succeeds(&PROCESSES_2, answer_behind_newcomers, f);
    munmap(f, sizeof *f);
}

static void a_source_of_many_costs_other_sources_nothing(void **state)
{
    flood *f = shared_memory(sizeof *f);
    (void)state;
    *f = (flood){.newcomers = 600, .from = 2};
    crew_succeeds(&PROCESSES_2, answer_behind_newcomers, f);
    munmap(f, sizeof *f);
}

/* The third process floods the host for as long as the ranks have not met. */
static void meet_in_a_flood(int rank, void *user)
{
    enum { KEPT = 500, MOST = 2000000 };
    static int kept[KEPT];
    table *t = user;
    nbcoll_tcp *tcp = meet(t, rank % 2, 2, 30 * SECOND);
    struct sockaddr_in at = of_host(t);

    for (int i = 0; rank == 2 && !atomic_load(&t->count); i++) {
        CHECK(i < MOST);
        if (i >= KEPT)
            close(kept[i % KEPT]);
        kept[i % KEPT] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(kept[i % KEPT], (struct sockaddr *)&at, sizeof at); /* without waiting for it */
        if (i == KEPT)
            atomic_store(&t->is_made, 2);
    }
    for (int i = 0; rank == 2 && i < KEPT; i++)
        close(kept[i]);
    if (rank == 0)
        await(&t->is_made, 2); /* it is under way */
    if (rank != 2)
        exchange_well(tcp, rank, 2, 8);
    atomic_store(&t->count, 1);
    nbcoll_tcp_close(tcp);
}

static void ranks_meet_in_a_flood(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_3, meet_in_a_flood, fresh_table());
}

/* Listens, as if by a host that only this machine reaches. */
static int listen_as_host(table *t)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listening = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(bind(listening, (struct sockaddr *)&at, sizeof at) == 0 && listen(listening, 4) == 0);
    CHECK(getsockname(listening, (struct sockaddr *)&at, &length) == 0);
    snprintf(t->id.text, sizeof t->id.text, "00112233445566778899aabbccddeeff-%d-127.0.0.1", ntohs(at.sin_port));
    return listening;
}

/* A host that is flooded sends the rank away, without a word; another address leads to somebody who says nothing. */
static void send_away_or_come_again(int rank, void *user)
{
    table *t = user;
    char mine = 1, all[2];

    if (rank != HOST) {
        nbcoll_tcp *tcp = meet(t, rank, 2, 3 * SECOND);
        CHECK(nbcoll_tcp_exchange(tcp, &mine, all, 1) != NBCOLL_OK);
        nbcoll_tcp_close(tcp);
        return;
    }
    int listening = listen_as_host(t), silent = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = of_host(t);
    const struct timeval longest = {.tv_sec = 20};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    CHECK(bind(silent, (struct sockaddr *)&at, sizeof at) == 0 && listen(silent, 4) == 0);
    CHECK(setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest) == 0);
    strcat(t->id.text, ",127.0.0.2");
    atomic_store(&t->is_made, 1);
    for (int i = 0; i < 4; i++) {
        int fd = accept(listening, NULL, NULL);
        CHECK(fd >= 0);
        close(fd);
    }
    close(listening);
    close(silent);
}

static void a_rank_that_is_sent_away_comes_again(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, send_away_or_come_again, fresh_table());
}

static void come_without_the_secret(int rank, void *user)
{
    table *t = user;
    nbcoll_tcp *tcp = meet(t, rank % 2, 2, 30 * SECOND);

    if (rank == 2) { /* another one that says to be rank 0 */
        const nbcoll_tcp_config config = config_of(0, 2, SECOND / 2);
        nbcoll_tcp_id guess = t->id;
        char mine = 1, all[2];
        guess.text[31] = guess.text[31] == '0' ? '1' : '0';
        nbcoll_tcp_close(tcp);
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_join(&config, &guess, &tcp));
        CHECK_STATUS(NBCOLL_ERR_TIMEOUT, nbcoll_tcp_exchange(tcp, &mine, all, 1));
        atomic_store(&t->count, 1);
    } else {
        if (rank == 0)
            await(&t->count, 1);
        exchange_well(tcp, rank, 2, 1);
    }
    nbcoll_tcp_close(tcp);
}

static void who_does_not_know_the_secret_is_turned_away(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_3, come_without_the_secret, fresh_table());
}

/* One that listens where an address leads sees a reply that it cannot use, and none of the bytes. */
static void be_or_meet_an_impostor(int rank, void *user)
{
    table *t = user;
    char text[8];

    if (rank == 1) {
        const nbcoll_tcp_config config = config_of(0, 2, SECOND / 2);
        nbcoll_tcp *tcp;
        char mine[8] = "payload", all[16];
        await(&t->is_made, 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_tcp_join(&config, &t->id, &tcp));
        CHECK_STATUS(NBCOLL_ERR_TIMEOUT, nbcoll_tcp_exchange(tcp, mine, all, sizeof mine));
        nbcoll_tcp_close(tcp);
        return;
    }
    nbcolli_tcp_hello hello = {.magic = NBCOLLI_TCP_MAGIC};
    nbcolli_tcp_reply reply;
    int listening = listen_as_host(t);
    atomic_store(&t->is_made, 1);
    int fd = accept(listening, NULL, NULL);
    close(listening);
    CHECK(send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
    CHECK(recv(fd, &reply, sizeof reply, MSG_WAITALL) == sizeof reply);
    CHECK(!memmem(&reply, sizeof reply, "\x77\x66\x55\x44\x33\x22\x11\x00", 8)); /* half of the secret */
    send(fd, "it is me", 8, MSG_NOSIGNAL);
    CHECK(recv(fd, text, sizeof text, 0) <= 0);
    close(fd);
}

static void an_impostor_learns_nothing(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, be_or_meet_an_impostor, fresh_table());
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

static void come_too_few(int rank, void *user)
{
    nbcoll_tcp *tcp = meet(user, rank, 3, rank == HOST ? SECOND / 2 : 30 * SECOND);
    char mine = 1, all[3];
    uint64_t since = clock_ns();

    CHECK_STATUS(NBCOLL_ERR_TIMEOUT, nbcoll_tcp_exchange(tcp, &mine, all, 1));
    CHECK(clock_ns() - since < 20 * SECOND); /* the host's deadline is told to who has come */
    nbcoll_tcp_close(tcp);
}

static void a_deadline_is_told_to_all_that_have_come(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, come_too_few, fresh_table());
}

static void lose_the_host(int rank, void *user)
{
    table *t = user;
    nbcoll_tcp *tcp = meet(t, rank, 3, 30 * SECOND);
    char mine = 1, all[3];

    atomic_fetch_add(&t->count, 1);
    await(&t->count, 3);
    if (rank == HOST)
        raise(SIGKILL);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_tcp_exchange(tcp, &mine, all, 1));
    nbcoll_tcp_close(tcp);
}

static void a_host_that_has_died_is_not_waited_for(void **state)
{
    int status[3];
    (void)state;
    assert_true(crew_run(&PROCESSES_3, lose_the_host, fresh_table(), status));
    assert_int_equal(status[0], 0);
    assert_int_equal(status[2], 0);
}

/* A host whose machine forgets the connection without a word, as one does that is switched off and on again. */
static void be_or_miss_a_forgetful_host(int rank, void *user)
{
    table *t = user;
    char mine = 1, all[2];
    int on = 1;

    if (rank != HOST) {
        nbcoll_tcp *tcp = meet(t, rank, 2, 30 * SECOND);
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_tcp_exchange(tcp, &mine, all, 1));
        nbcoll_tcp_close(tcp);
        return;
    }
    int listening = listen_as_host(t);
    atomic_store(&t->is_made, 1);
    int fd = accept(listening, NULL, NULL);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) == 0); /* so that closing says nothing */
    close(fd);
    close(listening);
}

static void a_host_that_has_forgotten_the_connection_is_not_waited_for(void **state)
{
    int on = 1, probe = socket(AF_INET, SOCK_STREAM, 0);
    bool may = setsockopt(probe, IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) == 0;
    (void)state;
    close(probe);
    if (!may)
        skip(); /* for root alone */
    crew_succeeds(&PROCESSES_2, be_or_miss_a_forgetful_host, fresh_table());
}

/* Rank 2 is one that dies when its bytes have come, as far as the host sees; rank 0 does not come. */
static void lose_a_guest(int rank, void *user)
{
    table *t = user;
    nbcoll_tcp *tcp = meet(t, rank, 3, 30 * SECOND);
    char mine = 1, all[3];

    if (rank == 2) {
        nbcolli_tcp_hello hello;
        nbcolli_tcp_reply reply = {.magic = NBCOLLI_TCP_MAGIC, .round = 1, .bytes = 1, .rank = 2, .ranks = 3};
        uint64_t proof;
        int fd = knock(t);
        CHECK(recv(fd, &hello, sizeof hello, MSG_WAITALL) == sizeof hello);
        reply.proof = nbcolli_tcp_proof_of_guest(tcp, &hello, &reply);
        CHECK(send(fd, &reply, sizeof reply, 0) == sizeof reply);
        CHECK(recv(fd, &proof, sizeof proof, MSG_WAITALL) == sizeof proof);
        CHECK(proof == nbcolli_tcp_proof_of_host(tcp, &hello, &reply));
        CHECK(send(fd, &mine, 1, 0) == 1);
        close(fd);
    } else if (rank == HOST)
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_tcp_exchange(tcp, &mine, all, 1));
    nbcoll_tcp_close(tcp);
}

static void a_guest_that_has_died_is_not_waited_for(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_3, lose_a_guest, fresh_table());
}

static void disagree(int rank, void *user)
{
    nbcoll_tcp *tcp = meet(user, rank, 2, 30 * SECOND);
    char mine[3] = "ab", all[6];

    CHECK_STATUS(NBCOLL_ERR_MISMATCH, nbcoll_tcp_exchange(tcp, mine, all, rank == HOST ? 3 : 2));
    nbcoll_tcp_close(tcp);
}

/* A third one might come when all is over, and find nobody. */
static void ranks_that_disagree_are_told(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, disagree, fresh_table());
}

static void be_the_same(int rank, void *user)
{
    nbcoll_tcp *tcp = meet(user, rank == HOST ? HOST : 0, 3, 30 * SECOND);
    char mine = 1, all[3];

    CHECK_STATUS(NBCOLL_ERR_DUPLICATE, nbcoll_tcp_exchange(tcp, &mine, all, 1));
    nbcoll_tcp_close(tcp);
}

static void two_of_the_same_rank_are_told(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_3, be_the_same, fresh_table());
}

static void bad_arguments_are_refused(void **state)
{
    static const char *const bad[] = {"", "x", "00112233445566778899aabbccddeeff",
                                      "00112233445566778899aabbccddeeff-1-",
                                      "00112233445566778899aabbccddeeff-0-127.0.0.1",
                                      "00112233445566778899aabbccddeeff-65536-127.0.0.1",
                                      "00112233445566778899aabbccddeefg-1-127.0.0.1",
                                      "00112233445566778899aabbccddeeff-1-127.0.0.1,",
                                      "00112233445566778899aabbccddeeff-1-localhost",
                                      "00112233445566778899aabbccddeeff-1-::1,::1,::1,::1,::1,::1,::1,::1,::1"};
    nbcoll_tcp_config config = config_of(0, 2, 0);
    nbcoll_tcp_id id = {""};
    nbcoll_tcp *tcp;
    char all[2];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        strcpy(id.text, bad[i]);
        assert_int_equal(nbcoll_tcp_join(&config, &id, &tcp), NBCOLL_ERR_ARGUMENT);
    }
    memset(id.text, 'a', sizeof id.text); /* has no end */
    assert_int_equal(nbcoll_tcp_join(&config, &id, &tcp), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_tcp_join(NULL, &id, &tcp), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_tcp_create(&config, NULL, &tcp), NBCOLL_ERR_NULL);
    config.rank = 2;
    assert_int_equal(nbcoll_tcp_create(&config, &id, &tcp), NBCOLL_ERR_RANK);
    config.rank = 0;
    config.port = 65536;
    assert_int_equal(nbcoll_tcp_create(&config, &id, &tcp), NBCOLL_ERR_CONFIG);
    config.port = 0;
    assert_int_equal(nbcoll_tcp_create(&config, &id, &tcp), NBCOLL_OK);
    assert_int_equal(nbcoll_tcp_exchange(tcp, all, NULL, 1), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_tcp_exchange(tcp, all, all, 0), NBCOLL_ERR_ARGUMENT);
    nbcoll_tcp_close(tcp);
    nbcoll_tcp_close(NULL);
}

static void a_port_that_is_taken_is_told(void **state)
{
    nbcoll_tcp_config config = config_of(0, 2, 0);
    nbcoll_tcp_id id = {""};
    nbcoll_tcp *taker, *tcp;

    (void)state;
    assert_int_equal(nbcoll_tcp_create(&config, &id, &taker), NBCOLL_OK);
    config.port = (uint32_t)atoi(id.text + 33);
    assert_int_equal(nbcoll_tcp_create(&config, &id, &tcp), NBCOLL_ERR_TRANSPORT);
    nbcoll_tcp_close(taker);
    assert_int_equal(nbcoll_tcp_create(&config, &id, &tcp), NBCOLL_OK);
    nbcoll_tcp_close(tcp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proof_is_the_hash_that_its_authors_publish),
        cmocka_unit_test(every_rank_gets_what_all_have),
        cmocka_unit_test(a_rank_alone_has_what_all_have),
        cmocka_unit_test(all_addresses_are_tried_at_once),
        cmocka_unit_test(strangers_are_turned_away),
        cmocka_unit_test(a_rank_is_heard_behind_many_that_say_nothing),
        cmocka_unit_test(a_source_of_many_costs_other_sources_nothing),
        cmocka_unit_test(ranks_meet_in_a_flood),
        cmocka_unit_test(a_rank_that_is_sent_away_comes_again),
        cmocka_unit_test(who_does_not_know_the_secret_is_turned_away),
        cmocka_unit_test(an_impostor_learns_nothing),
        cmocka_unit_test(a_deadline_is_told_to_all_that_have_come),
        cmocka_unit_test(a_host_that_has_died_is_not_waited_for),
        cmocka_unit_test(a_host_that_has_forgotten_the_connection_is_not_waited_for),
        cmocka_unit_test(a_guest_that_has_died_is_not_waited_for),
        cmocka_unit_test(ranks_that_disagree_are_told),
        cmocka_unit_test(two_of_the_same_rank_are_told),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_port_that_is_taken_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
