/* version.h - the version that profiles and requests carry. A spec compares it with the gem's version.
 *
 * Threads    any thread.
 * Ownership  a constant.
 */
#ifndef RPP_VERSION_H
#define RPP_VERSION_H

#define RPP_VERSION "0.1.0"

#endif
