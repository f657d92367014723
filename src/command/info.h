/* SPDX-License-Identifier: BSD-3-Clause
 * What ideas.awk makes for `nbcoll info`. */
#ifndef INFO_H
#define INFO_H

/* What ideas.awk finds in the source of an algorithm. The list ends with a null name. */
typedef struct info_idea {
    const char *operation, *name, *idea, *source;
} info_idea;
extern const info_idea info_ideas[];

#endif
