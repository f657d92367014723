/* SPDX-License-Identifier: BSD-3-Clause
 * What gloo does beside nbcoll and the MPI: see against.h. Its options are made once for a buffer, and used again. */
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

using prepared = std::function<void()>;

static std::shared_ptr<gloo::rendezvous::Context> context;

template <typename Options, typename Call> static prepared *with(Options options, Call call)
{
    auto shared = std::make_shared<Options>(std::move(options));
    return new prepared([shared, call] { call(*shared); });
}

extern "C" int gloo_open(int rank, int ranks, const char *interface, const char *directory)
{
    try {
        gloo::transport::tcp::attr where;
        gloo::rendezvous::FileStore store(directory);
        where.iface = interface;
        auto device = gloo::transport::tcp::CreateDevice(where);
        context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
        context->connectFullMesh(store, device);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "gloo: %s\n", e.what());
        return -1;
    }
    return 0;
}

extern "C" void *gloo_prepare(const char *operation, float *send, float *recv, size_t count)
{
    const std::string name = operation;
    const size_t all = count * static_cast<size_t>(context ? context->size : 0);
    if (!context)
        return nullptr;
    if (name == "barrier")
        return with(gloo::BarrierOptions(context), [](auto &its) { gloo::barrier(its); });
    if (name == "bcast") {
        gloo::BroadcastOptions o(context);
        o.setOutput(recv, count);
        o.setRoot(0);
        return with(std::move(o), [](auto &its) { gloo::broadcast(its); });
    }
    if (name == "allgather") {
        gloo::AllgatherOptions o(context);
        o.setInput(send, count);
        o.setOutput(recv, all);
        return with(std::move(o), [](auto &its) { gloo::allgather(its); });
    }
    if (name == "alltoall") {
        gloo::AlltoallOptions o(context);
        o.setInput(send, all);
        o.setOutput(recv, all);
        return with(std::move(o), [](auto &its) { gloo::alltoall(its); });
    }
    if (name == "allreduce") {
        gloo::AllreduceOptions o(context);
        o.setInput(send, count);
        o.setOutput(recv, count);
        o.setReduceFunction(
            static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::sum<float>));
        return with(std::move(o), [](auto &its) { gloo::allreduce(its); });
    }
    return nullptr;
}

extern "C" int gloo_call(void *of)
{
    try {
        (*static_cast<prepared *>(of))();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "gloo: %s\n", e.what());
        return -1;
    }
    return 0;
}

extern "C" void gloo_free(void *of)
{
    delete static_cast<prepared *>(of);
}
