/* SPDX-License-Identifier: BSD-3-Clause
 * The application: C++, with an event loop that sleeps in poll until a collective can go on. One thread a rank. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <thread>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "nbcoll/loopback.h"
#include "nbcoll/nbcoll.h"

namespace {

/* Runs until `request` has ended; in between the loop could serve other descriptors. */
nbcoll_status event_loop(nbcoll_context *context, nbcoll_request request)
{
    for (;;) {
        nbcoll_status s = nbcoll_test(&request);
        if (s != NBCOLL_PENDING)
            return s;
        pollfd fd{-1, POLLIN, 0};
        nbcoll_fd(context, &fd.fd);
        if (nbcoll_arm(context) == NBCOLL_OK)
            poll(&fd, 1, -1);
    }
}

nbcoll_status rank_main(nbcoll_loopback *world, int rank, std::vector<float> &data)
{
    nbcoll_endpoint *endpoint = nullptr;
    nbcoll_context *context = nullptr;
    nbcoll_comm *comm = nullptr;
    nbcoll_request request = NBCOLL_REQUEST_NULL;

    nbcoll_loopback_open(world, rank, &endpoint);
    nbcoll_context_create(NBCOLL_ABI, nullptr, &context);
    nbcoll_status s = nbcoll_comm_create(context, endpoint, nullptr, &comm, NBCOLL_FOREVER);
    if (s == NBCOLL_OK)
        s = nbcoll_ibcast(data.data(), data.size(), NBCOLL_FLOAT, 0, comm, &request);
    if (s == NBCOLL_OK)
        s = event_loop(context, request);
    if (s == NBCOLL_OK)
        s = nbcoll_barrier(comm, NBCOLL_FOREVER);
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY)
        ;
    return s;
}

void a_cpp_event_loop_waits_for_a_broadcast(void **)
{
    nbcoll_loopback_config config{};
    nbcoll_loopback *world = nullptr;
    std::vector<float> data[2] = {std::vector<float>(100000, 1.5f), std::vector<float>(100000)};
    nbcoll_status status[2];

    config.size = sizeof config;
    config.ranks = 2;
    assert_int_equal(nbcoll_loopback_create(&config, &world), NBCOLL_OK);
    std::thread other([&] { status[1] = rank_main(world, 1, data[1]); });
    status[0] = rank_main(world, 0, data[0]);
    other.join();
    assert_int_equal(status[0], NBCOLL_OK);
    assert_int_equal(status[1], NBCOLL_OK);
    assert_true(data[1] == data[0]);
    assert_int_equal(nbcoll_loopback_free(world), NBCOLL_OK);
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(a_cpp_event_loop_waits_for_a_broadcast)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
