/* SPDX-License-Identifier: BSD-3-Clause
 *
 * loader library function library function: loads both libraries, their symbols visible to each other, and calls the
 * function of each, twice in turn.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*run[2])(void) = {NULL, NULL};
    for (int i = 0; i < 2 && argc == 5; i++) {
        void *library = dlopen(argv[1 + 2 * i], RTLD_NOW | RTLD_GLOBAL);
        void *symbol = library ? dlsym(library, argv[2 + 2 * i]) : NULL;
        memcpy(&run[i], &symbol, sizeof symbol);
        if (!run[i]) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
    }
    if (argc != 5)
        return 2;
    return run[0]() || run[1]() || run[0]() || run[1]();
}
