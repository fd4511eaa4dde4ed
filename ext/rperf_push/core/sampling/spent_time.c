/* spent_time.c - a thread's recent time by state. */
#include "sampling/spent_time.h"

void rpp_spent_halve(rpp_spent_time *spent)
{
    rpp_time since_found = rpp_time_less(spent->in[RPP_STATE_RUNNING], spent->ran_when_found);
    for (rpp_state state = 0; state < RPP_STATE_COUNT; state++) {
        spent->in[state].wall_ns /= 2;
        spent->in[state].cpu_ns /= 2;
    }
    spent->ran_when_found = rpp_time_less(spent->in[RPP_STATE_RUNNING], since_found);
}

void rpp_spent_begin_finding(rpp_spent_time *spent)
{
    spent->ran_when_found = spent->in[RPP_STATE_RUNNING];
}

uint64_t rpp_spent_weight_of_finding(rpp_spent_time *spent, uint64_t weight_ns, rpp_time after)
{
    rpp_time ran = rpp_time_less(spent->in[RPP_STATE_RUNNING], spent->ran_when_found);
    after.cpu_ns = rpp_ns_least(after.cpu_ns, ran.cpu_ns);
    after.wall_ns = rpp_ns_least(after.wall_ns, ran.wall_ns);
    ran = rpp_time_less(ran, after);
    spent->ran_when_found = rpp_time_less(spent->in[RPP_STATE_RUNNING], after);
    return rpp_ns_share(weight_ns, ran.cpu_ns, ran.wall_ns);
}
