/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeds that once failed, with what shrinking left of them. They are run always. Each was found with the first edition
 * of plans, unless it says which. */
#include "storm.h"

const kept storm_kept[] = {
    /* Who is lost names itself, whoever tells it. */
    {50948, {.edition = 1, .items = 1, .faults = 2}},
    {30294, {.edition = 1, .items = 5, .faults = 1, .n_skipped = 1, .skipped = {3}}},
    {31450, {.edition = 1, .items = 8, .faults = 2, .n_skipped = 2, .skipped = {6, 5}}},
    {32094, {.edition = 1, .items = 20, .faults = 2, .n_skipped = 2, .skipped = {13, 12}}},
    {32115, {.edition = 1, .items = 7, .faults = 2}},
    {32231, {.edition = 1, .items = 9}},
    {32299, {.edition = 1, .items = 14, .faults = 2}},
    {32510, {.edition = 1, .items = 9, .faults = 2}},
    /* Who has not made a communicator, since one outside of it was lost, is not lost itself. */
    {30463, {.edition = 1, .items = 5, .faults = 2, .n_skipped = 1, .skipped = {3}}},
    /* What was freed is not taken for what was never made. */
    {32280, {.edition = 1, .items = -1}},
    /* Word of a message that had to wait comes when the communicator is freed. */
    {60153, {.edition = 1, .items = 32, .faults = 3}},
    {61626, {.edition = 1, .items = 31, .faults = 3}},
    {63276, {.edition = 1, .items = 32, .faults = 3}},
    {64564, {.edition = 1, .items = 39, .faults = 3}},
    {64692, {.edition = 1, .items = 34, .faults = 3}},
    /* What a rank has not made, since it ended by a loss, is not called cancelled. */
    {2060, {.edition = 2, .items = -1, .only = 1 + FAULT_RIVALS}},
    /* Word of a shrink that is lent to one that has left is asked for, and comes back: that one is not lost. */
    {7000125, {.edition = 3, .items = 31, .faults = 3, .n_skipped = 5, .skipped = {14, 13, 2, 1, 25}}},
    {7000290, {.edition = 3, .items = 22, .faults = 3, .n_skipped = 3, .skipped = {1, 0, 8}}},
    /* The clock, while a call waits, frees the context. */
    {1, {.edition = 4, .items = -1}},
    /* A message that was asked for takes no credit: it opened its channel in an epoch that had begun since. */
    {801406, {.edition = 4, .items = 28, .faults = 2}},
    /* Who has cancelled a shrink is named, whoever tells it. */
    {9279,
     {.edition = 4,
      .items = 16,
      .only = 1 + FAULT_CANCELS,
      .n_skipped = 14,
      .skipped = {11, 10, 9, 8, 3, 2, 1, 0, 13, 12, 7, 6, 14, 4}}},
    /* A tick leaves a communicator to be made over one that is freed then. */
    {4543, {.edition = 6, .items = -1}},
    /* Who is out of step still hears what others called when one is lost: that one stays the one that is named. */
    {5660, {.edition = 6, .items = 25, .n_skipped = 22, .skipped = {24, 23, 22, 21, 20, 19, 18, 17, 8,  7, 6,
                                                                    5,  4,  3,  2,  1,  0,  16, 15, 10, 9, 14}}},
    {801482,
     {.edition = 4,
      .items = 35,
      .n_skipped = 16,
      .skipped = {34, 33, 32, 31, 26, 25, 18, 17, 10, 9, 30, 21, 14, 6, 5, 4}}},
    /* Who frees a communicator, and makes another one, is known to have freed it, whatever of its messages is kept. */
    {60000009, {.edition = 8, .items = -1, .only = 1 + FAULT_FREES}},
    {60000063, {.edition = 8, .items = -1, .only = 1 + FAULT_FREES}},
    /* A shrink is decided with the memory of one that has given up the decider since. */
    {1795765922001430, {.edition = 8, .items = -1}},

    /* The same, where what waits for its answer has failed. */
    {720000343, {.edition = 8, .items = -1, .only = 1 + FAULT_FREES}},
    /* What is freed, after or before another one was not made, is not taken for that. */
    {740000153, {.edition = 8, .items = -1, .only = 1 + FAULT_FREES}},
    {1795780056011159,
     {.edition = 10,
      .items = 22,
      .n_skipped = 17,
      .skipped = {5, 4, 3, 2, 1, 0, 13, 12, 11, 10, 19, 18, 7, 6, 21, 14, 8}}},
    /* Whoever waits for a rank to let go of what it exposed asks it, too, whether it has freed the communicator. */
    {1795768651000673, {.edition = 10, .items = -1}},
    {1795768651022476,
     {.edition = 10,
      .ranks = 2,
      .items = 16,
      .faults = 2,
      .n_skipped = 12,
      .skipped = {11, 10, 9, 8, 3, 2, 1, 0, 7, 6, 13, 5}}},
    /* A shrink under way is not taken for an operation whose tag ends alike. */
    {1795779251000976,
     {.edition = 10,
      .ranks = 2,
      .items = 22,
      .faults = 2,
      .only = 1 + FAULT_FREES,
      .n_skipped = 10,
      .skipped = {17, 16, 15, 14, 13, 12, 11, 10, 19, 18}}},
    /* Whom another rank calls dead may be alive, and read memory of this one: it is given up. */
    {1795780056017410,
     {.edition = 10,
      .items = 23,
      .n_skipped = 15,
      .skipped = {14, 13, 12, 11, 10, 9, 8, 7, 18, 17, 16, 15, 20, 19, 21}}},
    {1795798447037963,
     {.edition = 12, .items = 31, .faults = 2, .n_skipped = 24, .skipped = {22, 21, 20, 19, 18, 17, 16, 15,
                                                                            14, 13, 12, 11, 10, 9,  8,  7,
                                                                            26, 25, 24, 23, 28, 27, 29, 6}}},
    /* The same: what it read was another operation's, and right data were expected. */
    {39000555,
     {.edition = 13,
      .items = 29,
      .faults = 2,
      .only = 1 + FAULT_POST,
      .n_skipped = 6,
      .skipped = {24, 23, 22, 21, 27, 26}}},
    /* Who has freed a communicator since an operation has failed is not lost to those that have not heard of that. */
    {1795799554004554, {.edition = 12, .items = 14, .faults = 2, .is_over_shm = true}},
    /* Who cannot make what a shrink has decided upon tells those that have made it. */
    {1795801085006977, {.edition = 12, .items = 2, .faults = 2}},
    /* Whom others have lost names itself, too, where it finds out before its communicator breaks. */
    {1795800861004442,
     {.edition = 12, .items = 11, .faults = 2, .is_over_shm = true, .n_skipped = 2, .skipped = {10, 8}}},
    /* Whoever has decided upon a shrink, and then has no memory for what comes, tells the others. */
    {1795801244004995,
     {.edition = 12, .items = 4, .faults = 2, .is_over_shm = true, .n_skipped = 2, .skipped = {2, 1}}},
    /* A test says what has ended in a callback that it has called. */
    {1795801003008290, {.edition = 12, .items = 11, .faults = 3}},
    /* Who has ended an operation well, and failed in a later one of its slot, says with what history it started it. */
    {36013564,
     {.edition = 13,
      .items = 36,
      .faults = 2,
      .only = 1 + FAULT_DIFFERS,
      .n_skipped = 16,
      .skipped = {31, 30, 29, 28, 15, 14, 13, 12, 34, 32, 24, 22, 17, 10, 5, 1}}},
    /* Who is lost by what stands in its words may be alive, and reads this rank's memory. */
    {1795801244007183, {.edition = 12, .items = 5, .faults = 1, .is_over_shm = true}},
    /* By a head that others had written a rank overwrites what was not taken: nothing of it is found any more. */
    {72019831, {.edition = 13, .items = 24, .is_over_shm = true}},
    /* Who has called the same, and has ended it, has shown what is not there any more: it has given this rank up. */
    {72203126,
     {.edition = 13,
      .items = 17,
      .faults = 1,
      .is_over_shm = true,
      .n_skipped = 11,
      .skipped = {0, 12, 11, 10, 9, 14, 13, 8, 7, 15, 6}}},
    /* Of several requests the last one may end by its callback: a wait for any sees it at once, however long it was. */
    {72101778, {.edition = 13, .items = -1, .is_over_shm = true}},
    {72104195, {.edition = 13, .items = -1, .is_over_shm = true}},
    /* The vote of a creation has another history than an allgather as long. */
    {72801580, {.edition = 13, .items = 8, .only = 1 + FAULT_LEAVE, .faults = 2, .n_skipped = 1, .skipped = {5}}},
    {72401508, {.edition = 13, .items = 6, .faults = 2, .is_over_shm = true}},
    /* What ranks offer for a split of 47 ranks holds the cells of 30. */
    {1795801244006880,
     {.edition = 12, .items = 7, .faults = 3, .is_over_shm = true, .n_skipped = 4, .skipped = {4, 3, 5, 2}}},
    /* A creation is cancelled when a tick has ended its vote. */
    {1795800433011697, {.edition = 12, .items = -1}},
    /* A line for a communicator that is freed has the tag that it had, also behind 2^31. */
    {1795800433011062, {.edition = 12, .items = 22}},
    /* What ended while another request was tested is seen before a sleep. */
    {62000025, {.edition = 7, .items = -1}},
    {31002643, {.edition = 7, .items = -1}},
    /* A call from inside what relays pack and unpack with is refused. */
    {700330, {.edition = 12, .items = -1}},
    /* What stood ready and has failed asks for the answer of a rank that has freed the communicator, and makes one. */
    {1795810595130479,
     {.edition = 14, .items = 27, .faults = 2, .n_skipped = 21, .skipped = {2,  1,  0,  14, 13, 12, 11, 24, 23, 18, 17,
                                                                            16, 15, 10, 9,  4,  3,  22, 21, 8,  5}}},
    /* Where the judge was wrong, or too kind. */
    {91251, {.edition = 14, .items = 24}},
    {174, {.edition = 1, .items = 3}},
    {9, {.edition = 1, .items = -1, .only = 1 + FAULT_REGISTER}},
    {31122, {.edition = 1, .items = -1}},
    {30338, {.edition = 1, .items = -1}},
    {60587, {.edition = 1, .items = -1}},
    {40152, {.edition = 1, .items = -1, .only = 1 + FAULT_DIFFERS}},
    {201163, {.edition = 1, .items = -1}},
    {129, {.edition = 2, .items = -1, .only = 1 + FAULT_RIVALS}},
    {1795767323000260, {.edition = 10, .items = 3}},
    {1795768056000820, {.edition = 10, .items = -1}},
    {1795780056023140, {.edition = 12, .ranks = 25, .items = 1}},
    {1795780827003340, {.edition = 10, .ranks = 30, .items = 1, .is_over_shm = true}},
    {1795780056017876,
     {.edition = 10,
      .items = 21,
      .faults = 2,
      .n_skipped = 17,
      .skipped = {4, 3, 2, 1, 0, 8, 7, 6, 5, 19, 18, 17, 16, 14, 12, 11, 10}}},
    {1795799011009304,
     {.edition = 12, .items = 12, .faults = 2, .n_skipped = 11, .skipped = {3, 2, 1, 0, 7, 6, 5, 4, 9, 8, 10}}},
    {1795799492002968,
     {.edition = 12,
      .ranks = 2,
      .items = 15,
      .faults = 3,
      .n_skipped = 14,
      .skipped = {6, 5, 4, 3, 2, 1, 0, 10, 9, 8, 7, 12, 11, 13}}},
    {1795799936000819,
     {.edition = 12, .items = 33, .faults = 2, .n_skipped = 11, .skipped = {28, 27, 26, 25, 8, 7, 6, 5, 18, 17, 30}}},
    {1795800861007872, {.edition = 12, .items = 8, .faults = 2, .is_over_shm = true, .n_skipped = 1, .skipped = {5}}},
    {1795798447026923, {.edition = 12, .items = 16, .faults = 2, .n_skipped = 2, .skipped = {9, 8}}},
    {1795802474001177, {.edition = 12, .items = 1, .faults = 1, .n_skipped = 1, .skipped = {0}}},
    {1795798447037218, {.edition = 12, .items = 3, .faults = 3, .n_skipped = 1, .skipped = {0}}},
    {20000129, {.edition = 3, .items = 22, .faults = 2, .n_skipped = 1, .skipped = {15}}},
    /* A part that goes through a ring is for ranks that all see it in place: who does not would wait for ever. */
    {36015926,
     {.edition = 13,
      .items = 32,
      .faults = 3,
      .only = 1 + FAULT_DIFFERS,
      .n_skipped = 31,
      .skipped = {23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8,
                  7,  6,  5,  4,  3,  2,  1,  0,  27, 26, 25, 24, 29, 28, 30}}},
    /* Nor is it put in a staging buffer: its owner may have left before it is got. */
    {71001818,
     {.edition = 13, .items = 33, .faults = 3, .n_skipped = 21, .skipped = {0, 20, 19, 18, 17, 16, 15, 14, 13, 8, 7,
                                                                            6, 5,  26, 25, 24, 23, 10, 9,  31, 1}}},
    {36011114,
     {.edition = 13,
      .items = 31,
      .faults = 3,
      .only = 1 + FAULT_DIFFERS,
      .n_skipped = 24,
      .skipped = {22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 2, 1, 0, 28, 27, 25, 6, 5}}},
    /* What a rank that is given up may still read is not written again. */
    {73402054,
     {.edition = 13,
      .items = 13,
      .faults = 2,
      .only = 1 + FAULT_RIVALS,
      .n_skipped = 6,
      .skipped = {10, 9, 11, 8, 7, 6}}},
    {71010421, {.edition = 13, .items = 9, .faults = 2}},
    {73600125,
     {.edition = 13,
      .items = 25,
      .faults = 2,
      .only = 1 + FAULT_GARBLES,
      .n_skipped = 13,
      .skipped = {20, 19, 18, 17, 16, 15, 14, 13, 22, 21, 23, 12, 4}}},
    /* A communicator that is not known here, of a rank that this one has lost: no difference. */
    {72403309,
     {.edition = 13,
      .items = 19,
      .only = 1 + FAULT_POST,
      .n_skipped = 15,
      .skipped = {10, 9, 8, 7, 6, 5, 4, 3, 14, 13, 12, 11, 16, 15, 17}}},
    /* A wait for one of few ends when a callback has told of the last of them. */
    {74403432, {.edition = 13, .items = 1, .faults = 3, .only = 1 + FAULT_RIVALS}},
    /* Who could not be told that all have mapped the segment fails, and so do the others, at once. */
    {5001927, {.edition = 13, .items = 1, .is_over_shm = true}},
    {5006199, {.edition = 13, .items = 1, .is_over_shm = true}},
    /* A driver goes on looking after a message that came in a drain, or while it took over a start. */
    {1795822153034125, {.edition = 14, .items = 6, .faults = 3, .n_skipped = 1, .skipped = {2}}},
    /* Who sends something to a rank that has freed the communicator after a failure is told what who waits for it is.
     */
    {50003850,
     {.edition = 14, .items = 19, .n_skipped = 15, .skipped = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 14, 13, 17, 12}}},
    /* A call whose message of a shrink was refused rings for the driver, which sleeps. */
    {801000795, {.edition = 14}},
    /* A rank that is given up is told so last: a put into its memory was still under way. */
    {1795822153049006,
     {.edition = 14,
      .items = 26,
      .faults = 2,
      .n_skipped = 17,
      .skipped = {17, 16, 15, 14, 13, 12, 11, 10, 21, 20, 19, 18, 23, 22, 24, 8, 7}}},
    /* Ranks that differ twice, behind tags of 2^31, learn of it. */
    {847003090,
     {.edition = 16, .items = 18, .faults = 2, .only = 1 + FAULT_DIFFERS, .n_skipped = 4, .skipped = {16, 15, 6, 5}}},
    /* Answers to questions took the only room in a channel, pass after pass, from what waited in the backlog. */
    {63166003,
     {.edition = 17, .items = 38, .faults = 2, .is_over_shm = true, .n_skipped = 30, .skipped = {21, 20, 19, 18, 17,
                                                                                                 16, 15, 14, 13, 12,
                                                                                                 11, 10, 9,  8,  7,
                                                                                                 6,  29, 28, 27, 26,
                                                                                                 1,  0,  31, 30, 3,
                                                                                                 2,  32, 25, 22, 4}}},
    /* Whom a rank finds to have freed the communicator, when it asks, ends all later operations at once, too: not one
     * after the other in a slot. */
    {92043019, {.edition = 17, .items = 1, .faults = 2}},
    /* storm's own: a communicator is made behind one that is freed by another fault. */
    {3500887, {.edition = 18, .items = 35, .only = 1 + FAULT_FREES}},
    /* storm's own: who has opened no relays comes to no end at which credits are counted. */
    {1795830143439738, {.edition = 18, .items = 13, .faults = 2, .n_skipped = 2, .skipped = {11, 10}}},
    /* storm's own: a copy for a communicator that another rank has not freed yet holds the staging buffer. */
    {715754, {.edition = 19, .items = 31, .faults = 3, .n_skipped = 22, .skipped = {22, 21, 20, 19, 18, 17, 16, 15,
                                                                                    26, 25, 24, 23, 14, 13, 12, 11,
                                                                                    28, 27, 8,  7,  2,  0}}},
    /* A message had gone whole to a rank that left, and its send was told that the rank was lost. */
    {9212524,
     {.edition = 20, .items = 40, .faults = 3, .n_skipped = 11, .skipped = {15, 14, 13, 12, 3, 2, 1, 0, 31, 30, 9}}},
    /* Who has no memory to keep a vote for a group that it has not called gave up its sender, which is well. */
    {9724939, {.edition = 20, .items = 10, .faults = 2, .is_over_shm = true, .n_skipped = 3, .skipped = {6, 5, 3}}},
    /* storm's own: who gives up sends nothing in the next round, and leaves: receives that wait there end so. */
    {240936,
     {.edition = 20,
      .items = 40,
      .faults = 2,
      .is_over_shm = true,
      .n_skipped = 19,
      .skipped = {31, 30, 29, 28, 27, 26, 25, 24, 7, 6, 5, 4, 3, 2, 1, 0, 35, 22, 15}}},
    /* What was announced to a rank that is cut off, and lives, was given back while that still got it. */
    {120877, {.edition = 21, .items = 18, .faults = 2, .n_skipped = 7, .skipped = {13, 12, 11, 10, 16, 5, 2}}},
    {21141, {.edition = 21, .items = 10, .faults = 2, .only = 1 + FAULT_POST}},
    {23926,
     {.edition = 21, .items = 26, .faults = 2, .only = 1 + FAULT_POST, .n_skipped = 20, .skipped = {17, 16, 15, 14,
                                                                                                    13, 12, 11, 10,
                                                                                                    9,  8,  7,  6,
                                                                                                    23, 22, 21, 20,
                                                                                                    18, 4,  2,  0}}},
    /* Word that what was announced has been taken was refused once: its sender waited for it for ever. */
    {35758,
     {.edition = 21,
      .items = 24,
      .faults = 2,
      .only = 1 + FAULT_POST,
      .n_skipped = 18,
      .skipped = {15, 14, 13, 12, 7, 6, 5, 4, 21, 20, 17, 16, 9, 8, 22, 18, 11, 2}}},
    /* a group's vote waited at a rank that never called for it, after its sender had heard of a death */
    {1795830143823731, {.edition = 21, .items = 36, .faults = 2, .n_skipped = 4, .skipped = {33, 32, 31, 26}}},
    /* Memory that a message's receiver had lent for a put was taken back before the answer of a sender that is cut off,
     * and lives. */
    {7001174, {.edition = 21, .items = 14, .faults = 2, .n_skipped = 3, .skipped = {10, 9, 6}}},
    /* A shrink without a rank that had left revoked tags alone: what waited in a program for an agent, which what was
     * revoked had cancelled, waited for ever. */
    {96014836, {.edition = 21, .items = 10, .faults = 2, .n_skipped = 6, .skipped = {7, 6, 5, 4, 8, 0}}},
    /* shm, without pidfds: who was told of a death by another rank kept the dead one's window for ever. */
    {704650, {.edition = 21, .items = 3}},
    /* What asks for a message's data was answered FAILED: its sender, which lives, waited for the answer. So did a
     * receiver, where the put was; and either, where that stood in the backlog when the other one was lost. */
    {2024846, {.edition = 21, .items = 1, .faults = 2, .only = 1 + FAULT_POST}},
    {2014934,
     {.edition = 21, .items = 8, .faults = 2, .only = 1 + FAULT_POST, .n_skipped = 6, .skipped = {5, 4, 3, 2, 6, 1}}},
    {901928,
     {.edition = 21,
      .items = 36,
      .faults = 2,
      .only = 1 + FAULT_POST,
      .n_skipped = 13,
      .skipped = {27, 26, 25, 24, 33, 32, 29, 28, 23, 22, 34, 30, 20}}},
    /* storm's own: parts of a long message that came did not count as movement, of which a watcher is not told. */
    {1795830143981020, {.edition = 21, .items = 25, .faults = 2, .n_skipped = 23, .skipped = {7,  16, 15, 14, 13, 12,
                                                                                              11, 10, 9,  0,  8,  6,
                                                                                              5,  4,  3,  2,  1,  22,
                                                                                              21, 18, 17, 23, 20}}},
    /* ofi: a clock that jumped while a rank connected to another one took that for lost. */
    {142, {.edition = 21, .items = -1, .is_over_ofi = true}},
    /* ofi: where the system had no descriptor more, an endpoint said that one was bad. */
    {175, {.edition = 21, .items = -1, .is_over_ofi = true}},
    /* ofi: puts to a rank that had given this one up failed as if its memory could not be written; and where the
     * provider had no room, others were not told where puts go since. */
    {102121, {.edition = 21, .items = -1, .is_over_ofi = true}},
    {102425, {.edition = 21, .items = -1, .is_over_ofi = true}},
    /* Messages to a living rank that a post had called lost, and which was not told that this one is, waited for ever:
     * no loss is one rank's alone now (transport.h). */
    {60194, {.edition = 22, .items = -1, .only = 1 + FAULT_POST}},
    {2029182, {.edition = 22, .items = -1, .only = 1 + FAULT_POST}},
    /* Who is lost, and may touch memory until it is given up, counted as dead from the answer of a post on: what it
     * still got or put was given back. */
    {3001012, {.edition = 22, .items = 3, .faults = 2, .only = 1 + FAULT_POST}},
    {3002318, {.edition = 22, .items = 3, .faults = 2, .only = 1 + FAULT_POST}},
    /* A decision of a shrink that had ended was answered FAILED, and forgotten with the rank that waited for it, which
     * was not told that it is lost. */
    {8011913, {.edition = 22, .items = 27, .only = 1 + FAULT_POST, .n_skipped = 5, .skipped = {24, 23, 22, 21, 25}}},
    /* A first communicator that a rank did not make for lack of memory, though its vote had ended well, was freed there
     * as if all had gone well: others took that for a mismatch. */
    {50040302, {.edition = 22, .items = 2, .faults = 2}},
    /* A member of a group that had not called yet refused the others' votes for the next creation with the one that was
     * given up; a count of credits was taken for another list's starts; sendrecv asked the host's clock, whose hook
     * freed the context. */
    {91000022, {.edition = 25, .items = -1}},
    {90000227, {.edition = 25, .items = -1}},
    {92002955, {.edition = 25, .items = -1}},
    {93000875, {.edition = 25, .items = -1}},
    {91000046, {.edition = 25, .items = -1}},
    /* The world's: `wait` was late about a queue pair that its rank had closed: a message that was carried was lost. */
    {1795900568000209, {.edition = 24, .items = 22}},
    {94004403, {.edition = 25, .items = -1}},
    /* The judge's: a chain whose start was refused for lack of memory took the end of its last call for that one's. */
    {61001362, {.edition = 23, .items = 19, .only = 1 + FAULT_MEMORY}},
    /* ofi: a rank slept though a post had been refused, since another one had gone after it. */
    {1795921959000463, {.edition = 25, .items = 37, .is_over_ofi = true}},
    /* Over ofi: the provider lost a rank's last message, which nothing can show: it comes late now. */
    {99001412, {.edition = 25, .items = 18, .faults = 2, .is_over_ofi = true}},
    /* A rank that had heard of a loss from another one shrank, and its vote did not say so. */
    {100104459, {.edition = 25, .items = 27, .n_skipped = 2, .skipped = {22, 7}}},
    /* The program's: a rank whose agent had failed started nothing after sums that are programs. */
    {1795928118000488,
     {.edition = 25, .items = 28, .faults = 3, .n_skipped = 22,
      .skipped = {19, 18, 17, 16, 15, 14, 13, 12, 23, 22, 21, 20, 11, 10, 9, 8, 3, 2, 26, 25, 6, 5}}},
    /* A rank had lost another one before it made its communicator: on one of their two endpoints alone. */
    {1795933881000217,
     {.edition = 25, .items = 18, .n_skipped = 17,
      .skipped = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 16}}},
    /* ofi: a rank that had said goodbye, and closed, before the other one said its hello was lost to that. */
    {1795900066000000, {.edition = 23, .items = -1, .is_over_ofi = true}},
    /* A receive on a route, whose sender was lost as that closed, did not answer the announcement: both waited. */
    {50001271, {.edition = 28, .items = 14, .n_skipped = 1, .skipped = {9}}},
    /* The judge's: a rank that was given up on both endpoints had told one transport alone that it gives up, too. */
    {130001875,
     {.edition = 28, .items = 32, .n_skipped = 13, .skipped = {27, 26, 25, 24, 23, 22, 21, 20, 29, 28, 30, 18, 17}}},
    /* Groups: under one tag, lists of small ranks looked alike. */
    {140000306, {.edition = 29, .items = 10, .faults = 3, .n_skipped = 8, .skipped = {5, 4, 3, 2, 7, 6, 8, 0}}},
    {140002249, {.edition = 29, .items = 2, .faults = 3}},
    /* What a timeout names had called long ago: others told each other that it had not. */
    {143000260, {.edition = 29, .items = 1}},
    /* A rank that waited by yielding asked nobody for 2.45 s: it looked at the clock once in 1,024 yields. */
    {153001571,
     {.edition = 29, .items = 34, .faults = 3, .n_skipped = 20,
      .skipped = {25, 24, 23, 22, 21, 20, 19, 18, 1, 0, 31, 30, 27, 26, 15, 14, 12, 7, 5, 3}}},
    /* Of 49 ranks, too: they told each other for two seconds of one that had called. */
    {1795949467000680, {.edition = 29, .items = -1, .is_over_shm = true}},
    /* The world's: whom a group's members had lost was taken for the end of another communicator. */
    {174001510, {.edition = 29, .items = 12, .faults = 2, .only = 1, .n_skipped = 1, .skipped = {6}}},
    /* The judge's: a wait of 2 s had called a callback, which itself waited for 3.4 s: the wait returned after that. */
    {200001433, {.edition = 31, .items = 12, .faults = 2}},
    /* The judge's: ranks that lost their cores told each other for two seconds of one as late that had called. */
    {1796100000011032, {.edition = 31, .items = 2, .n_skipped = 2, .skipped = {0, 1}}},
};
const size_t storm_kept_count = sizeof storm_kept / sizeof *storm_kept;
