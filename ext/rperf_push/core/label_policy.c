/* label_policy.c - three small tables: keys as they came, names as they go, and the values seen under each name. */
#include "label_policy.h"

#include <string.h>

#include "alloc.h"
#include "hash_index.h"

typedef struct text {
    char *bytes;
    uint32_t length;
} text;

#define NOT_SENT UINT32_MAX

/* What was decided about a key. */
typedef struct rule {
    text key;
    uint32_t name; /* index of names, or NOT_SENT */
} rule;

/* A name on the wire, under which the values of several keys may meet. */
typedef struct name {
    text text;
    uint32_t value_count;
} name;

typedef struct value {
    text text;
    uint32_t name;
} value;

struct rpp_label_policy {
    const rpp_settings *settings;
    bool legal_names;
    rule *rules;
    size_t rule_count, rule_capacity;
    rpp_hash_index by_key;
    name *names;
    size_t name_count, name_capacity;
    rpp_hash_index by_name;
    value *values;
    size_t value_count, value_capacity;
    rpp_hash_index by_value;
};

rpp_label_policy *rpp_label_policy_new(const rpp_settings *settings, bool legal_names)
{
    rpp_label_policy *policy = rpp_calloc(1, sizeof *policy);
    if (!policy) return NULL;
    policy->settings = settings;
    policy->legal_names = legal_names;
    return policy;
}

void rpp_label_policy_free(rpp_label_policy *policy)
{
    if (!policy) return;
    for (size_t i = 0; i < policy->rule_count; i++) rpp_free(policy->rules[i].key.bytes);
    for (size_t i = 0; i < policy->name_count; i++) rpp_free(policy->names[i].text.bytes);
    for (size_t i = 0; i < policy->value_count; i++) rpp_free(policy->values[i].text.bytes);
    rpp_free(policy->rules);
    rpp_free(policy->names);
    rpp_free(policy->values);
    rpp_hash_index_destroy(&policy->by_key);
    rpp_hash_index_destroy(&policy->by_name);
    rpp_hash_index_destroy(&policy->by_value);
    rpp_free(policy);
}

/* --- how a key is spelled ------------------------------------------------------------------------------------------- */

static bool is_text(const char *known, const char *bytes, size_t length)
{
    return strlen(known) == length && memcmp(known, bytes, length) == 0;
}

static const rpp_pair *find_pair(const rpp_pairs *pairs, const char *key, size_t length)
{
    for (size_t i = 0; i < pairs->count; i++) {
        if (is_text(pairs->items[i].key, key, length)) return &pairs->items[i];
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_legal(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

static rpp_status copy_of(const char *bytes, size_t length, text *copy)
{
    char *copied = rpp_strndup(bytes, length);
    if (!copied) return RPP_NO_MEMORY;
    *copy = (text){copied, (uint32_t)length};
    return RPP_OK;
}

static rpp_status legal_copy_of(const char *bytes, size_t length, text *copy)
{
    size_t shift = length && is_digit(bytes[0]) ? 1 : 0;
    char *legal = rpp_malloc(length + shift + 1);
    if (!legal) return RPP_NO_MEMORY;
    legal[0] = '_';
    for (size_t i = 0; i < length; i++) legal[i + shift] = is_legal(bytes[i]) ? bytes[i] : '_';
    legal[length + shift] = '\0';
    *copy = (text){legal, (uint32_t)(length + shift)};
    return RPP_OK;
}

static rpp_status spell(const rpp_label_policy *policy, const rpp_label *label, text *spelled)
{
    if (!policy->legal_names) return copy_of(label->key, label->key_length, spelled);
    const rpp_pair *renamed = find_pair(&policy->settings->label_names, label->key, label->key_length);
    if (renamed && renamed->value) return legal_copy_of(renamed->value, strlen(renamed->value), spelled);
    return legal_copy_of(label->key, label->key_length, spelled);
}

/* Denial holds for what the key is called in the process and for what it would be called outside. */
static bool is_refused(const rpp_label_policy *policy, const rpp_label *label, text sent)
{
    const rpp_pairs *deny = &policy->settings->label_deny;
    return sent.length == 0 || strncmp(sent.bytes, "__", 2) == 0 || find_pair(deny, label->key, label->key_length) ||
           find_pair(deny, sent.bytes, sent.length);
}

/* --- the tables ----------------------------------------------------------------------------------------------------- */

static bool same_text(const text *known, const text *wanted)
{
    return known->length == wanted->length && memcmp(known->bytes, wanted->bytes, known->length) == 0;
}

static bool is_key(const void *policy, uint32_t id, const void *wanted)
{
    return same_text(&((const rpp_label_policy *)policy)->rules[id].key, wanted);
}

static bool is_name(const void *policy, uint32_t id, const void *wanted)
{
    return same_text(&((const rpp_label_policy *)policy)->names[id].text, wanted);
}

static bool is_value(const void *policy, uint32_t id, const void *wanted)
{
    const value *known = &((const rpp_label_policy *)policy)->values[id], *other = wanted;
    return known->name == other->name && same_text(&known->text, &other->text);
}

/* Room for one more in a table and its index, so that adding cannot fail half-way. */
static rpp_status make_room(void **items, size_t *capacity, size_t count, size_t size, rpp_hash_index *index)
{
    rpp_status status = rpp_grow(items, capacity, count + 1, size);
    return status == RPP_OK ? rpp_hash_index_reserve(index, 1) : status;
}

/* Takes the spelling. */
static rpp_status intern_name(rpp_label_policy *policy, text spelled, uint32_t *id)
{
    uint32_t hash = rpp_hash_bytes(spelled.bytes, spelled.length);
    *id = rpp_hash_index_find(&policy->by_name, hash, is_name, policy, &spelled);
    rpp_status status = RPP_OK;
    if (*id == RPP_INDEX_NONE) {
        status = make_room((void **)&policy->names, &policy->name_capacity, policy->name_count, sizeof(name),
                           &policy->by_name);
        if (status == RPP_OK) {
            *id = (uint32_t)policy->name_count++;
            policy->names[*id] = (name){.text = spelled};
            rpp_hash_index_add(&policy->by_name, hash, *id);
            return RPP_OK;
        }
    }
    rpp_free(spelled.bytes);
    return status;
}

static rpp_status decide(rpp_label_policy *policy, const rpp_label *label, uint32_t *decided)
{
    text spelled;
    rpp_status status = spell(policy, label, &spelled);
    if (status != RPP_OK) return status;
    if (is_refused(policy, label, spelled)) {
        rpp_free(spelled.bytes);
        *decided = NOT_SENT;
        return RPP_OK;
    }
    return intern_name(policy, spelled, decided);
}

/* The name under which a key is sent; decided once per key. */
static rpp_status name_for(rpp_label_policy *policy, const rpp_label *label, uint32_t *decided)
{
    text key = {(char *)label->key, label->key_length};
    uint32_t hash = rpp_hash_bytes(key.bytes, key.length);
    uint32_t known = rpp_hash_index_find(&policy->by_key, hash, is_key, policy, &key);
    if (known != RPP_INDEX_NONE) {
        *decided = policy->rules[known].name;
        return RPP_OK;
    }

    rule fresh;
    rpp_status status =
        make_room((void **)&policy->rules, &policy->rule_capacity, policy->rule_count, sizeof(rule), &policy->by_key);
    if (status == RPP_OK) status = decide(policy, label, &fresh.name);
    if (status == RPP_OK) status = copy_of(key.bytes, key.length, &fresh.key);
    if (status != RPP_OK) return status;
    rpp_hash_index_add(&policy->by_key, hash, (uint32_t)policy->rule_count);
    policy->rules[policy->rule_count++] = fresh;
    *decided = fresh.name;
    return RPP_OK;
}

/* Whether the value was seen before under this name, or is among the first so many. */
static rpp_status admit_value(rpp_label_policy *policy, uint32_t under, const rpp_label *label, bool *admitted)
{
    value fresh = {.text = {(char *)label->value, label->value_length}, .name = under};
    uint32_t hash = rpp_hash_words(under, rpp_hash_bytes(label->value, label->value_length));
    *admitted = rpp_hash_index_find(&policy->by_value, hash, is_value, policy, &fresh) != RPP_INDEX_NONE;
    if (*admitted || policy->names[under].value_count >= policy->settings->max_label_values) return RPP_OK;

    rpp_status status = make_room((void **)&policy->values, &policy->value_capacity, policy->value_count, sizeof(value),
                                  &policy->by_value);
    if (status == RPP_OK) status = copy_of(label->value, label->value_length, &fresh.text);
    if (status != RPP_OK) return status;
    rpp_hash_index_add(&policy->by_value, hash, (uint32_t)policy->value_count);
    policy->values[policy->value_count++] = fresh;
    policy->names[under].value_count++;
    *admitted = true;
    return RPP_OK;
}

rpp_status rpp_label_policy_apply(rpp_label_policy *policy, rpp_label label, rpp_label *sent, bool *keep)
{
    static const char other[] = "other";
    uint32_t under = NOT_SENT;
    bool admitted = false;
    /* An empty value reads as absent everywhere. */
    rpp_status status = label.value_length ? name_for(policy, &label, &under) : RPP_OK;
    if (status == RPP_OK && under != NOT_SENT) status = admit_value(policy, under, &label, &admitted);
    if (status != RPP_OK) return status;

    *keep = under != NOT_SENT;
    if (!*keep) return RPP_OK;
    text sent_as = policy->names[under].text;
    *sent = (rpp_label){sent_as.bytes, label.value, sent_as.length, label.value_length};
    if (!admitted) {
        sent->value = other;
        sent->value_length = sizeof other - 1;
    }
    return RPP_OK;
}
