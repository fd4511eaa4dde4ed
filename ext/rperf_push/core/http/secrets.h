/* secrets.h - hides credentials in foreign text: a server may repeat them in an error message.
 *
 * Threads    any thread.
 * Ownership  the caller keeps settings and text.
 */
#ifndef RPP_SECRETS_H
#define RPP_SECRETS_H

#include "settings/settings.h"

/* Replaces every password, token and header value of the settings in the text by stars, plain or as basic
 * authentication sends it. Very short values stay, because they occur as ordinary words. If out of memory, it empties
 * the text. */
void rpp_secrets_hide(const rpp_settings *settings, char *text);

#endif
