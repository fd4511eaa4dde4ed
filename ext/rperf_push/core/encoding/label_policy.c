/* label_policy.c - three small tables: incoming keys, outgoing names, and the values seen under each name. */
#include "encoding/label_policy.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash_index.h"
#include "base/label_caps.h"

typedef struct text {
    char *bytes;
    uint32_t length;
} text;

#define NOT_SENT UINT32_MAX

/* The decision about a key. */
typedef struct rule {
    text key;
    uint32_t name; /* index of names, or NOT_SENT */
} rule;

/* A name as it is sent; several keys may share it and its values. */
typedef struct name {
    text text;
    uint32_t value_count;
} name;

typedef struct value {
    text text;
    uint32_t name;
    uint64_t seen_ns;
} value;

/* A value not seen for this time loses its place. */
#define REMEMBERED_NS (3600 * RPP_NS_PER_S)

struct rpp_label_policy {
    const rpp_settings *settings;
    bool legal_names;
    uint64_t now_ns; /* of the current profile */
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

static void discard_all(rpp_label_policy *policy)
{
    for (size_t i = 0; i < policy->rule_count; i++) rpp_free(policy->rules[i].key.bytes);
    for (size_t i = 0; i < policy->name_count; i++) rpp_free(policy->names[i].text.bytes);
    for (size_t i = 0; i < policy->value_count; i++) rpp_free(policy->values[i].text.bytes);
    policy->rule_count = policy->name_count = policy->value_count = 0;
    rpp_hash_index_clear(&policy->by_key);
    rpp_hash_index_clear(&policy->by_name);
    rpp_hash_index_clear(&policy->by_value);
}

void rpp_label_policy_free(rpp_label_policy *policy)
{
    if (!policy) return;
    discard_all(policy);
    rpp_free(policy->rules);
    rpp_free(policy->names);
    rpp_free(policy->values);
    rpp_hash_index_destroy(&policy->by_key);
    rpp_hash_index_destroy(&policy->by_name);
    rpp_hash_index_destroy(&policy->by_value);
    rpp_free(policy);
}

static uint32_t hash_of_value(uint32_t under, const char *bytes, size_t length)
{
    return rpp_hash_words(under, rpp_hash_bytes(bytes, length));
}

static bool is_remembered(const value *known, uint64_t now_ns)
{
    return known->seen_ns + REMEMBERED_NS > now_ns;
}

void rpp_label_policy_begin(rpp_label_policy *policy, uint64_t now_ns)
{
    size_t kept = 0;
    policy->now_ns = now_ns;
    if (policy->rule_count > RPP_LABEL_KEYS_KNOWN_MAX) discard_all(policy);
    rpp_hash_index_clear(&policy->by_value);
    for (size_t i = 0; i < policy->value_count; i++) {
        value *known = &policy->values[i];
        if (is_remembered(known, now_ns)) {
            rpp_hash_index_add(&policy->by_value, hash_of_value(known->name, known->text.bytes, known->text.length),
                               (uint32_t)kept);
            policy->values[kept++] = *known;
        } else {
            policy->names[known->name].value_count--;
            rpp_free(known->text.bytes);
        }
    }
    policy->value_count = kept;
}

/* --- spelling of keys --------------------------------------------------------------------------------------------- */

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

/* A denied name applies to the key in the process and to the name that would be sent. */
static bool is_refused(const rpp_label_policy *policy, const rpp_label *label, text sent)
{
    const rpp_pairs *deny = &policy->settings->label_deny;
    return sent.length == 0 || strncmp(sent.bytes, "__", 2) == 0 || find_pair(deny, label->key, label->key_length) ||
           find_pair(deny, sent.bytes, sent.length);
}

/* --- the tables
 * ----------------------------------------------------------------------------------------------------- */

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

/* Reserves room for one more entry in a table and its index, so that adding cannot fail half-way. */
static rpp_status make_room(void **items, size_t *capacity, size_t count, size_t size, rpp_hash_index *index)
{
    rpp_status status = rpp_grow(items, capacity, count + 1, size);
    return status == RPP_OK ? rpp_hash_index_reserve(index, 1) : status;
}

/* Takes ownership of the spelling. */
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

/* The name under which a key is sent, decided once per key. */
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

static uint32_t max_values_of(const char *called, size_t length, uint32_t usual)
{
#define X(capped, cap)                                                                                                 \
    if (is_text(capped, called, length)) return cap;
    RPP_LABEL_VALUE_CAPS(X)
#undef X
    return usual;
}

bool rpp_label_is_of_one_request(const char *key, size_t length)
{
    return max_values_of(key, length, 0) == RPP_VALUES_UNCAPPED;
}

/* Admits the value if the name has it already, or still has room for it. */
static rpp_status admit_value(rpp_label_policy *policy, uint32_t under, const rpp_label *label, bool *admitted)
{
    value fresh = {.text = {(char *)label->value, label->value_length}, .name = under, .seen_ns = policy->now_ns};
    const name *called = &policy->names[under];
    uint32_t max = max_values_of(called->text.bytes, called->text.length, policy->settings->max_label_values);
    *admitted = max == RPP_VALUES_UNCAPPED;
    if (*admitted) return RPP_OK;
    uint32_t hash = hash_of_value(under, label->value, label->value_length);
    uint32_t known = rpp_hash_index_find(&policy->by_value, hash, is_value, policy, &fresh);
    *admitted = known != RPP_INDEX_NONE;
    if (*admitted) policy->values[known].seen_ns = policy->now_ns;
    if (*admitted || called->value_count >= max) return RPP_OK;

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
    /* All servers treat an empty value as absent. */
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
