/* test_source_path.c - paths as they are on every machine. */
#include "base/source_path.h"

#include "test.h"

static const char *told(const char *path, const char *root)
{
    static char text[256];
    size_t length = rpp_source_path(text, sizeof text, path, strlen(path), root, strlen(root));
    CHECK_INT(length, strlen(text));
    return text;
}

TEST(gems_are_told_by_their_names)
{
    CHECK_STR(told("/usr/lib/ruby/gems/3.4.0/gems/rack-3.2.8/lib/rack.rb", ""), "rack/lib/rack.rb");
    CHECK_STR(told("/b/gems/rack-test-2.2.0.pre1/lib/a.rb", ""), "rack-test/lib/a.rb");
    CHECK_STR(told("/b/gems/nokogiri-1.18.9-x86_64-linux-gnu/lib/a.rb", ""), "nokogiri/lib/a.rb");
    CHECK_STR(told("/b/bundler/gems/rails-0a1b2c3d4e5f/activerecord/lib/a.rb", ""), "rails/activerecord/lib/a.rb");
    CHECK_STR(told("/srv/app/vendor/bundle/ruby/3.4.0/gems/puma-8.0.2/lib/a.rb", "/srv/app"), "puma/lib/a.rb");
    /* No version, no gem; and a folder that is called so, deeper in a gem. */
    CHECK_STR(told("/srv/app/gems/billing/lib/a.rb", "/srv/app"), "gems/billing/lib/a.rb");
    CHECK_STR(told("/b/gems/rubocop-1.2.3/lib/gems/a.rb", ""), "rubocop/lib/gems/a.rb");
    CHECK_STR(told("/b/gems/rack-3.2.8", ""), "/b/gems/rack-3.2.8");
    CHECK_STR(told("/b/gems/-1/a.rb", ""), "/b/gems/-1/a.rb");
    CHECK_STR(told("/gems/", ""), "/gems/");
}

static int line_in(const char *file, const char *path, int line)
{
    return rpp_line_in_file(file, strlen(file), path, strlen(path), line);
}

TEST(text_that_eval_ran_has_the_line_of_its_call)
{
    CHECK_INT(line_in("/a.rb", "/a.rb", 7), 7);
    CHECK_INT(line_in("/a.rb", "(eval at /a.rb:12)", 1), 12);
    CHECK_INT(line_in("/a.rb", "(eval at (eval at /a.rb:12):3)", 1), 12);
    CHECK_INT(line_in("(eval at /a.rb:12)", "(eval at (eval at /a.rb:12):3)", 1), 0);
    CHECK_INT(line_in("(eval at /a.rb:12)", "(eval at /a.rb:12)", 5), 5);
    CHECK_INT(line_in("/a.rb", "(eval at /b.rb:12)", 7), 0);
    CHECK_INT(line_in("/a.rb", "(eval at /a.rb2:12)", 7), 0);
    CHECK_INT(line_in("/a.rb", "other.erb", 7), 0);
    CHECK_INT(line_in("/a.rb", "(eval at ", 7), 0);
    CHECK_INT(line_in("/a.rb", "(eval at /a.rb", 7), 0);
    CHECK_INT(line_in("", "(eval at ", 7), 0);
    CHECK(line_in("/a.rb", "(eval at /a.rb:99999999999999999999)", 7) > 0);
}

TEST(files_of_the_application_are_told_from_its_root)
{
    CHECK_STR(told("/srv/app/app/models/cart.rb", "/srv/app"), "app/models/cart.rb");
    CHECK_STR(told("/srv/application/a.rb", "/srv/app"), "/srv/application/a.rb");
    CHECK_STR(told("/srv/app", "/srv/app"), "/srv/app");
    CHECK_STR(told("/srv/app/", "/srv/app"), "/srv/app/");
    CHECK_STR(told("(eval at /srv/app/lib/a.rb:12)", "/srv/app"), "(eval at lib/a.rb:12)");
    CHECK_STR(told("(eval at /b/gems/erb-4.0/lib/erb.rb:1)", "/srv/app"), "(eval at erb/lib/erb.rb:1)");
    CHECK_STR(told("/srv/app/a.rb", ""), "/srv/app/a.rb");
    CHECK_STR(told("<internal:kernel>", "/srv/app"), "<internal:kernel>");
    CHECK_STR(told("", "/srv/app"), "");
}

TEST(what_does_not_fit_is_cut)
{
    char text[8];
    CHECK_INT(rpp_source_path(text, sizeof text, "/b/gems/rack-1/lib/a.rb", 23, "", 0), 7);
    CHECK_STR(text, "rack/li");
    CHECK_INT(rpp_source_path(text, sizeof text, "(eval at a.rb)", 14, "", 0), 7);
    CHECK_STR(text, "(eval a");
}

TEST(compiled_templates_have_a_number)
{
    static const char *const templates[] = {"_app_views_home_index_html_erb___2965248030973713470_62820",
                                            "_app_views_home_index_html_erb__965248030973713470_8", "_a__1_2"};
    static const char *const others[] = {"",         "_",       "1",     "_1", "__1_2", "index", "_private_1_2",
                                         "app__1_2", "_a__x_2", "_a___2"};
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        CHECK(rpp_is_template_method(templates[i], strlen(templates[i])));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK(!rpp_is_template_method(others[i], strlen(others[i])));
    }
}
