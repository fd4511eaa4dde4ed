/* rb_sample_text.h - samples of data Hashes as text: JSON with frames as numbers, and collapsed stacks.
 *
 * Threads    under the GVL.
 * Ownership  results are Ruby objects.
 */
#ifndef RB_SAMPLE_TEXT_H
#define RB_SAMPLE_TEXT_H

#include "vm/rb_compat.h"

/* Defines Native.samples_json and Native.collapsed. */
void rb_rpp_sample_text_init(VALUE native);

#endif
