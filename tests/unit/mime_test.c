/* mime_test.c - the mail parser of samples/triage: headers, encodings and multipart bodies of real mail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "samples/triage/plugin/mime.c"
#include "samples/triage/plugin/text.c"

static const struct {
    const char *message, *from, *subject, *body;
} cases[] = {
    {"From: a@b\nSubject: hi\n\nbody\n", "a@b", "hi", "body"},
    {"from:a@b\r\nSUBJECT:  hi \r\n\r\nbody\r\nmore\r\n", "a@b", "hi", "body\nmore"},
    {"Subject: one\n two\n\tthree\n\n", "", "one two three", ""},
    {"Subject: =?utf-8?Q?f=C3=BCr_alle?=\n\n", "", "für alle", ""},
    {"Subject: =?ISO-8859-1?q?f=FCr?= =?iso-8859-1?Q?_alle?= da\n\n", "", "für alle da", ""},
    {"Subject: =?UTF-8?B?5pel?=\n =?UTF-8?B?5pys?=\n\n", "", "日本", ""},
    {"Subject: =?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=\n\n", "", "日本", ""},
    {"From: =?utf-8?q?J=C3=B6rg?= <j@x>\n\n", "Jörg <j@x>", "", ""},
    {"Subject: =?utf-8*de?Q?f=C3=BCr?=\n\n", "", "für", ""},
    {"Subject: =?nonsense?Q?a=FFb?=\n\n", "",
     "a\xef\xbf\xbd"
     "b",
     ""},
    {"Subject: =?utf-8?X?abc?= =?broken\n\n", "", "=?utf-8?X?abc?= =?broken", ""},
    {"Subject: \xff\xfe\n\n\xc3", "", "\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd"},
    {"Content-Transfer-Encoding: quoted-printable\nContent-Type: text/plain; charset=\"iso-8859-1\"\n\ngr=FC=\n=DFe "
     "=3D=\n",
     "", "", "grüße ="},
    {"Content-Transfer-Encoding: BASE64\n\naGVs\nbG8=\n", "", "", "hello"},
    {"Content-Type: text/html\n\n<style>p{}</style><p>a &amp; b</p><br>c &lt;d&gt;\n", "", "", "a & b\n\nc <d>"},
    {"Content-Type: multipart/alternative; boundary=\"x\"\n\npreamble\n--x\nContent-Type: "
     "text/html\n\n<b>h</b>\n--x\n\nplain\n--x--\n",
     "", "", "plain"},
    {"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: multipart/alternative; boundary=y\n\n--y\n"
     "Content-Type: text/plain\n\ninner\n--y--\n--x--\n",
     "", "", "inner"},
    {"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n\n<p>only</p>\n--x--\n", "", "",
     "only"},
    {"Content-Type: multipart/mixed; boundary=\n\n--\n\nx", "", "", ""},
    {"Content-Type: multipart/mixed; boundary=x\n\n--x", "", "", ""},
    {"Content-Type: image/png\n\nxx", "", "", ""},
    {"", "", "", ""},
    {"no headers at all", "", "", ""},
};

static void parses_mail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mail mail;
        mail_read(&mail, cases[i].message, strlen(cases[i].message));
        if (strcmp(text_string(&mail.body), cases[i].body) != 0) print_message("case %zu\n", i);
        assert_string_equal(text_string(&mail.from), cases[i].from);
        assert_string_equal(text_string(&mail.subject), cases[i].subject);
        assert_string_equal(text_string(&mail.body), cases[i].body);
        mail_free(&mail);
    }
}

/* For truncated or altered mail, the parser terminates and returns valid UTF-8. */
static void accepts_damaged_mail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].message);
        for (size_t cut = 0; cut <= length; cut++) {
            char *copy = malloc(cut + (cut == 0)); /* no spare byte: the address sanitizer finds a read past the end */
            memcpy(copy, cases[i].message, cut);
            struct mail mail;
            if (cut > 0) copy[cut / 2] = (char)(copy[cut / 2] ^ 0x95);
            mail_read(&mail, copy, cut);
            struct text again = {0};
            text_add(&again, text_string(&mail.body), mail.body.length);
            text_repair(&again);
            assert_string_equal(text_string(&again), text_string(&mail.body));
            text_free(&again);
            mail_free(&mail);
            free(copy);
        }
    }
}

static void truncates_between_characters(void **state) {
    (void)state;
    struct text message = {0};
    text_add_string(&message, "Subject: long\n\n.");
    while (message.length < MIME_TEXT_MAX * 2) text_add_string(&message, "ü");
    struct mail mail;
    mail_read(&mail, text_string(&message), message.length);
    assert_int_equal(mail.body.length, MIME_TEXT_MAX - 1); /* not half an ü */
    mail_free(&mail);
    text_free(&message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_mail),
        cmocka_unit_test(accepts_damaged_mail),
        cmocka_unit_test(truncates_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
