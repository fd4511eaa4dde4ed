/* status.c - the texts of the status codes. */
#include "base/status.h"

const char *rpp_status_text(rpp_status status)
{
    switch (status) {
#define X(name, text)                                                                                                  \
    case RPP_##name: return text;
        RPP_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}
