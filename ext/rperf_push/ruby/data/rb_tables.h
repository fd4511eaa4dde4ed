/* rb_tables.h - gives Ruby the core's tables: values of a profile, states of a thread, reasons of failed uploads.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_TABLES_H
#define RB_TABLES_H

#include "vm/rb_compat.h"

void rb_rpp_tables_init(VALUE native);

#endif
