/*
 * pack_platform.c - finds the processors that a pack's executables are for, by the first bytes of each plugin.
 *
 * Only a plugin can be executable. A plugin that is a script has no ELF header, and runs everywhere.
 */
#include "host/plugin/pack/pack_platform.h"
#include "adl/value/buffer.h"
#include <elf.h>
#include <string.h>

static const struct processor {
    uint16_t machine;
    const char *name;
} processors[] = {{EM_386, "386"},       {EM_X86_64, "amd64"}, {EM_ARM, "arm"},    {EM_AARCH64, "arm64"},
                  {EM_PPC64, "ppc64le"}, {243, "riscv64"},     {EM_S390, "s390x"}, {258, "loong64"}};
#define PROCESSORS (sizeof processors / sizeof *processors)

/* The first bytes of an ELF file, up to e_machine. */
#define HEAD_SIZE 20u

struct platform_reader {
    bool program, found[PROCESSORS];
    unsigned char head[HEAD_SIZE];
    size_t length;
};

static int32_t platform_begin(void *user, const char *path, uint64_t size, bool program, struct error *error) {
    struct platform_reader *reader = user;
    (void)path, (void)size, (void)error;
    reader->program = program;
    reader->length = 0;
    return TN_OK;
}

static int32_t platform_data(void *user, const void *bytes, size_t length, struct error *error) {
    struct platform_reader *reader = user;
    size_t wanted = HEAD_SIZE - reader->length, taken = length < wanted ? length : wanted;
    (void)error;
    memcpy(reader->head + reader->length, bytes, taken);
    reader->length += taken;
    return TN_OK;
}

static int32_t platform_end(void *user, struct error *error) {
    struct platform_reader *reader = user;
    const unsigned char *head = reader->head;
    (void)error;
    if (!reader->program || reader->length < HEAD_SIZE || memcmp(head, ELFMAG, SELFMAG) != 0) return TN_OK;
    bool little = head[EI_DATA] == ELFDATA2LSB;
    uint16_t machine = little ? (uint16_t)(head[18] | head[19] << 8) : (uint16_t)(head[19] | head[18] << 8);
    for (size_t i = 0; i < PROCESSORS; i++) reader->found[i] |= processors[i].machine == machine;
    return TN_OK;
}

int32_t pack_read_platforms(struct pack *pack, tn_value *out, struct error *error) {
    struct platform_reader reader = {.program = false};
    const struct pack_sink sink = {platform_begin, platform_data, platform_end, &reader};
    struct buffer text;
    int32_t status = pack_read_files(pack, &sink, error);
    if (status != TN_OK) return status;
    buffer_init(&text, SIZE_MAX);
    for (size_t i = 0; i < PROCESSORS; i++)
        if (reader.found[i]) buffer_format(&text, "%slinux/%s", text.length ? "," : "", processors[i].name);
    *out = value_text(buffer_cstr(&text));
    buffer_finish(&text);
    return TN_OK;
}

const char *pack_host_platform(void) {
#if defined __x86_64__
    return "linux/amd64";
#elif defined __aarch64__
    return "linux/arm64";
#elif defined __riscv && __riscv_xlen == 64
    return "linux/riscv64";
#elif defined __powerpc64__
    return "linux/ppc64le";
#elif defined __s390x__
    return "linux/s390x";
#elif defined __loongarch64
    return "linux/loong64";
#elif defined __arm__
    return "linux/arm";
#elif defined __i386__
    return "linux/386";
#else
    return "linux/unknown";
#endif
}

bool pack_platforms_fit(const char *platforms) {
    const char *host = pack_host_platform();
    size_t length = strlen(host);
    if (!*platforms) return true;
    for (const char *at = platforms; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && memcmp(at, host, length) == 0) return true;
    return false;
}
