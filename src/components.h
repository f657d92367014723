/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which components src/nbcoll.c holds, and what these need of the system. Written by src/components.sh. */
#ifndef NBCOLL_WITH_WIDE
#define NBCOLL_WITH_WIDE 0
#endif
#ifndef NBCOLL_WITH_DRIVER
#define NBCOLL_WITH_DRIVER 0
#endif
#ifndef NBCOLL_WITH_ELEMENTS
#define NBCOLL_WITH_ELEMENTS 0
#endif
#ifndef NBCOLL_WITH_GROUP
#define NBCOLL_WITH_GROUP 0
#endif
#ifndef NBCOLL_WITH_LISTS
#define NBCOLL_WITH_LISTS 0
#endif
#ifndef NBCOLL_WITH_MESSAGE
#define NBCOLL_WITH_MESSAGE 0
#endif
#ifndef NBCOLL_WITH_NEIGHBOR
#define NBCOLL_WITH_NEIGHBOR 0
#endif
#ifndef NBCOLL_WITH_OFFLOAD
#define NBCOLL_WITH_OFFLOAD NBCOLL_WITH_LAB
#endif
#ifndef NBCOLL_WITH_LAB
#define NBCOLL_WITH_LAB 0
#endif
#ifndef NBCOLL_WITH_VERBS
#define NBCOLL_WITH_VERBS 0
#endif
#ifndef NBCOLL_WITH_OFI
#define NBCOLL_WITH_OFI 0
#endif
#if NBCOLL_WITH_VERBS
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#endif
#if NBCOLL_WITH_OFI
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/ioctl.h>
#endif
