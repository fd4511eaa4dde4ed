/* version.h - the version that profiles and requests carry; the gem's is checked against it. */
#ifndef RPP_VERSION_H
#define RPP_VERSION_H

#define RPP_VERSION "0.1.0"

#endif
