/*
 * linked.c - adds a plugin that is linked into the process: a program's own components, written like a plugin.
 *
 * Its manifest is in the notes of the object that contains its entry, which are mapped with the object. So they are
 * read from memory: the program's file may be gone, and may be an executable of any type.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/note_text.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/preset.h"
#include "host/plugin/registry/reserved.h"
#include <link.h>
#include <string.h>
#include <tenon/note.h>

/* The texts of the notes of one object. */
struct linked_notes {
    uintptr_t entry; /* an address in the object */
    struct manifest_note *items;
    size_t count;
};

static size_t padded(size_t size, size_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

static void linked_add_note(struct linked_notes *notes, const char *text, size_t length) {
    struct buffer json;
    while (length > 0 && text[length - 1] == '\0') length--;
    buffer_init(&json, SIZE_MAX);
    note_write_json(&json, text, length);
    MEM_EXTEND(notes->items, notes->count);
    struct manifest_note *note = &notes->items[notes->count++];
    note->text = buffer_detach(&json, &note->length);
}

/* The linker has made the segment, and the loader has mapped it: its sizes are right. */
static void linked_read_segment(struct linked_notes *notes, const char *at, size_t size, size_t alignment) {
    const char *end = at + size;
    while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        memcpy(&header, at, sizeof header);
        const char *owner = at + sizeof header, *text = owner + padded(header.n_namesz, alignment);
        if (text > end || header.n_descsz > (size_t)(end - text)) return;
        if (header.n_type == TN_NOTE_TYPE && header.n_namesz == sizeof TN_NOTE_OWNER &&
            memcmp(owner, TN_NOTE_OWNER, sizeof TN_NOTE_OWNER) == 0)
            linked_add_note(notes, text, header.n_descsz);
        size_t length = padded(header.n_descsz, alignment);
        if (length > (size_t)(end - text)) return;
        at = text + length;
    }
}

/* Reads the notes of the object that contains the entry, and returns 1 to stop there. */
static int linked_visit_object(struct dl_phdr_info *object, size_t size, void *user) {
    struct linked_notes *notes = user;
    bool contains = false;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + segment->p_vaddr;
        contains |= segment->p_type == PT_LOAD && notes->entry >= from && notes->entry - from < segment->p_memsz;
    }
    for (size_t i = 0; contains && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + segment->p_vaddr;
        const char *bytes;
        memcpy(&bytes, &from, sizeof bytes);
        if (segment->p_type == PT_NOTE)
            linked_read_segment(notes, bytes, segment->p_memsz, segment->p_align == 8 ? 8 : 4);
    }
    return contains;
}

static int32_t linked_manifest(registry_entry entry, const char *source, tn_value *out, struct error *error) {
    struct linked_notes notes = {0};
    memcpy(&notes.entry, &entry, sizeof notes.entry);
    dl_iterate_phdr(linked_visit_object, &notes);
    int32_t status;
    if (notes.count == 0)
        status = error_set(error, TN_NOT_FOUND, "MANIFEST_MISSING",
                           "%s: the object that contains the plugin's entry has no notes of owner Tenon; declare the "
                           "plugin with TN_PLUGIN of tenon/easy.h, or pass its manifest",
                           source);
    else
        status = manifest_merge(source, notes.items, notes.count, out, error);
    for (size_t i = 0; i < notes.count; i++) mem_free((void *)(uintptr_t)notes.items[i].text);
    mem_free(notes.items);
    return status;
}

int32_t registry_check_free(struct registry *registry, const char *source, const char *kind, const char *id,
                            struct error *error) {
    const struct row *row = row_find(registry, kind, id, strlen(id));
    if (!row) return TN_OK;
    const struct plugin *owner = row->component.plugin;
    return error_set(error, TN_INVALID, "PLUGIN_DUPLICATE", "%s: the %s `%s` exists already, in the plugin `%s` (%s)",
                     source, kind, id, owner->id, *owner->path ? owner->path : owner->source);
}

/* Everything is checked before the plugin is added: a program gets the error, and can try again. */
static int32_t linked_check(struct registry *registry, tn_value manifest, const char *source, struct error *error) {
    int32_t status = reserved_check(source, manifest, error);
    if (status != TN_OK) return status;
    const char *id = manifest_text(manifest_plugin(manifest), "id");
    const struct plugin *there = registry_plugin(registry, id);
    if (there && there->state != PLUGIN_UNLOADED && !there->aside)
        return error_set(error, TN_INVALID, "PLUGIN_DUPLICATE", "%s: the plugin `%s` exists already (%s)", source, id,
                         *there->path ? there->path : there->source);
    for (size_t i = 0, count = manifest_entry_count(manifest); status == TN_OK && i < count; i++) {
        const char *kind, *name;
        manifest_entry_names(manifest, i, &kind, &name);
        status = registry_check_free(registry, source, kind, name, error);
    }
    return status;
}

int32_t registry_add_linked(struct registry *registry, registry_entry entry, tn_value manifest, const char *source,
                            struct error *error) {
    tn_value own = NULL;
    int32_t status = manifest ? manifest_check(source, manifest, error) : linked_manifest(entry, source, &own, error);
    if (status == TN_OK) status = linked_check(registry, manifest ? manifest : own, source, error);
    if (status != TN_OK) {
        value_unref(own);
        return status;
    }
    struct plugin *plugin = plugin_new_take(registry, manifest ? value_ref(manifest) : own, "", source);
    plugin->native = true;
    plugin->entry = entry;
    plugin->device = UINT64_MAX;
    memcpy(&plugin->inode, &entry, sizeof entry);
    return registry_add_plugin_take(registry, plugin, error);
}
