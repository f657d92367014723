/* SPDX-License-Identifier: BSD-3-Clause
 * The environment of a rank, lines of NAME=VALUE: who it is is said whole and in its bounds, or refused with the
 * configuration as it was. */
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"
#include "nbcoll/launch.h"
#include "nbcoll/launch_agent.h"
#include "nbcoll/loopback.h"

static const char *const names[] = {"NBCOLL_RANK", "NBCOLL_RANKS", "NBCOLL_ID", "NBCOLL_AGENT", "NBCOLL_TUNING"};
enum { NAMES = sizeof names / sizeof names[0] };

static void set_all(const char *text)
{
    for (int i = 0; i < NAMES; i++)
        unsetenv(names[i]);
    while (*text) {
        char line[512];
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        char *value = strchr(line, '=');
        if (value)
            *value++ = 0;
        for (int i = 0; i < NAMES && value; i++)
            if (strcmp(line, names[i]) == 0)
                setenv(line, value, 1);
        text += length + (text[length] == '\n');
    }
}

/* A decimal number, as the C library reads it. */
static int is_number(const char *text, int value)
{
    char *end;
    return strspn(text, "0123456789") == strlen(text) && strtol(text, &end, 10) == value;
}

static void read_rank(void)
{
    const nbcoll_host host = fuzz_host();
    nbcoll_shm_config config = {.size = sizeof config, .host = &host, .timeout = 1, .depth = 1, .payload = 256,
                                .quota = 4096, .pool = 32768}, before = config;
    nbcoll_endpoint *end = NULL;
    nbcoll_status status = nbcoll_launch_read(&config);
    FUZZ_NEVER(status != NBCOLL_OK && status != NBCOLL_ERR_LAUNCH && status != NBCOLL_ERR_CONFIG &&
               status != NBCOLL_ERR_UNSUPPORTED);
    FUZZ_NEVER(status != NBCOLL_OK && memcmp(&config, &before, sizeof config) != 0);
    if (status != NBCOLL_OK)
        return;
    FUZZ_NEVER(config.rank < 0 || config.rank >= config.ranks || config.ranks > NBCOLL_SHM_RANKS);
    FUZZ_NEVER(!is_number(getenv(names[0]), config.rank) || !is_number(getenv(names[1]), config.ranks));
    FUZZ_NEVER(strcmp(config.id.text, getenv(names[2])) != 0);
    status = nbcoll_shm_open(&config, &end);
    FUZZ_NEVER((status == NBCOLL_OK) != (end != NULL) || (end && config.ranks > 1));
    if (end)
        nbcoll_endpoint_close(end);
}

/* A socket that is not there; what comes over one that is: commands.c. */
static void read_agent(void)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1};
    const char *text = getenv(names[3]);
    nbcoll_loopback *world;
    nbcoll_endpoint *end;
    nbcoll_agent *agent;
    FUZZ_NEVER(nbcoll_loopback_create(&config, &world) != NBCOLL_OK ||
               nbcoll_loopback_open(world, 0, &end) != NBCOLL_OK);
    if (!text || fcntl(atoi(text), F_GETFD) < 0)
        FUZZ_NEVER(nbcoll_launch_agent(end, &agent) != (text ? NBCOLL_ERR_CONFIG : NBCOLL_OK) || agent);
    nbcoll_endpoint_close(end);
    nbcoll_loopback_free(world);
}

static void nobody(void *user)
{
    (void)user;
}

FUZZ(launch)
{
    char *text = calloc(bytes + 1, 1);
    FUZZ_NEVER(!text);
    if (bytes)
        memcpy(text, data, bytes);
    set_all(text);
    free(text);
    fuzz_other_side = nobody;
    read_rank();
    read_agent();
    fuzz_other_side = NULL;
    return 0;
}
