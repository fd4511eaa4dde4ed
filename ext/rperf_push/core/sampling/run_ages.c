/* run_ages.c - weighs what ticks of another thread find, so that code of each age gets its share. */
#include "sampling/run_ages.h"

/* A quarter of a finding that weighs what it says, so that the very first is not alone. */
#define PRIOR 0.25

/* A kernel lets a thread that woke up keep its core for some milliseconds. Later a tick is as late as any other. */
static unsigned group_of(uint64_t age_ns)
{
    uint64_t group = age_ns / RPP_AGE_GROUP_NS;
    return group < RPP_AGE_GROUPS ? (unsigned)group : RPP_AGE_GROUPS - 1;
}

static uint64_t end_of(unsigned group)
{
    return group < RPP_AGE_GROUPS - 1 ? (group + 1) * RPP_AGE_GROUP_NS : UINT64_MAX;
}

void rpp_ages_spend(rpp_run_ages *all, rpp_run_ages *own, uint64_t from_ns, uint64_t to_ns)
{
    while (from_ns < to_ns) {
        unsigned group = group_of(from_ns);
        uint64_t end_ns = end_of(group) < to_ns ? end_of(group) : to_ns;
        double spent_ns = (double)(end_ns - from_ns);
        all->spent_ns[group] += spent_ns;
        own->spent_ns[group] += spent_ns;
        from_ns = end_ns;
    }
}

static void forget_half(rpp_run_ages *ages)
{
    ages->findings /= 2;
    for (unsigned group = 0; group < RPP_AGE_GROUPS; group++) {
        ages->spent_ns[group] /= 2;
        ages->found_ns[group] /= 2;
    }
}

/* The CPU time at this age over the weights of its findings. */
static double find_in(rpp_run_ages *ages, unsigned group, double weight)
{
    if (++ages->findings > RPP_AGES_MOST) forget_half(ages);
    ages->found_ns[group] += weight;
    double prior = PRIOR * weight;
    return (ages->spent_ns[group] + prior) / (ages->found_ns[group] + prior);
}

uint64_t rpp_ages_weigh(rpp_run_ages *all, rpp_run_ages *own, uint64_t age_ns, uint64_t weight_ns)
{
    if (!weight_ns) return 0;
    unsigned group = group_of(age_ns);
    double weight = (double)weight_ns, of_all = find_in(all, group, weight), of_own = find_in(own, group, weight);
    double times = own->findings >= RPP_AGES_OWN ? of_own : of_all;
    return (uint64_t)(weight * (times < RPP_AGE_MOST ? times : RPP_AGE_MOST));
}
