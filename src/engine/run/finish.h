/* SPDX-License-Identifier: BSD-3-Clause
 * The end of a run. */
#ifndef NBCOLLI_ENGINE_RUN_FINISH_H
#define NBCOLLI_ENGINE_RUN_FINISH_H

#include "../state/context.h"

/* The run is over: nobody holds its buffers. The run itself is not to be touched afterwards. A tick leaves the end of a
 * run of which the watcher has heard to a call. */
void nbcolli_run_finish(nbcolli_run *run);

#endif
