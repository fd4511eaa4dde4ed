/* states.c - the table of states that a thread may be in. */
#include "sampling/states.h"

const rpp_state_name rpp_state_names[RPP_STATE_COUNT] = {
#define X(context, id, key, value, frame, title) [RPP_STATE_##id] = {key, value, frame, title},
    RPP_STATES(X, )
#undef X
};
