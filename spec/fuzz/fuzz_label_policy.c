/* fuzz_label_policy.c - the label policy against its plain model, and that what leaves it is fit for every server. */
#include "encoding/label_policy.h"
#include "fuzz_input.h"
#include "label_model.h"

static void check_one(rpp_label_policy *policy, label_model *model, rpp_label label)
{
    rpp_label sent = {0};
    model_text name, value;
    bool keep = false;
    FUZZ_CHECK(rpp_label_policy_apply(policy, label, &sent, &keep) == RPP_OK);
    FUZZ_CHECK(keep == label_model_apply(model, label, &name, &value));
    if (!keep) return;
    FUZZ_CHECK(sent.key_length == name.length && memcmp(sent.key, name.bytes, name.length) == 0);
    FUZZ_CHECK(sent.value_length == value.length && memcmp(sent.value, value.bytes, value.length) == 0);
    FUZZ_CHECK(!model->legal_names || (rpp_label_name_is_legal(sent.key) && strlen(sent.key) == sent.key_length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    rpp_settings *settings = rpp_settings_new();
    FUZZ_CHECK(settings);
    bool legal_names = fuzz_byte(&input) & 1;
    fuzz_label_settings(&input, settings);
    rpp_label_policy *policy = rpp_label_policy_new(settings, legal_names);
    FUZZ_CHECK(policy);
    label_model model;
    label_model_init(&model, settings, legal_names);

    while (input.left) {
        size_t key_length, value_length;
        char *key = fuzz_bytes(&input, RPP_LABEL_KEY_MAX, &key_length);
        char *value = fuzz_bytes(&input, RPP_LABEL_VALUE_MAX, &value_length);
        check_one(policy, &model, (rpp_label){key, value, (uint32_t)key_length, (uint32_t)value_length});
        free(key);
        free(value);
    }
    label_model_destroy(&model);
    rpp_label_policy_free(policy);
    rpp_settings_free(settings);
    return 0;
}
