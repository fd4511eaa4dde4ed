/* secrets.h - credentials in texts of others: a server that is not content may repeat what it was sent.
 *
 * Threads    any.
 */
#ifndef RPP_SECRETS_H
#define RPP_SECRETS_H

#include "settings.h"

/* Puts stars over every password, token and header value of the settings that the text holds, plain or as basic
 * authentication sends it. Short ones stay: they are words like others. Out of memory empties the text. */
void rpp_secrets_hide(const rpp_settings *settings, char *text);

#endif
