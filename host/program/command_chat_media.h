/*
 * command_chat_media.h - images and audio of an answer: saved to files, and images shown on terminals that can show
 * them.
 *
 *     struct chat_media media = {.mode = CHAT_MEDIA_AUTO};
 *     chat_media_show(&media, part);      // · image/png, 12345 bytes: …/tenon/chat/20261127-101500-1.png
 *
 * The files are in the folder `chat` of the program's state (XDG_STATE_HOME/tenon), which only its user can read, and
 * are kept. Raw PCM is saved as a WAV file. Thread: the one that owns the terminal.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_CHAT_MEDIA_H
#define TENON_HOST_PROGRAM_COMMAND_CHAT_MEDIA_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

enum chat_media_mode {
    CHAT_MEDIA_AUTO,  /* what the terminal can show */
    CHAT_MEDIA_KITTY, /* the graphics protocol of kitty: PNG; other images by a link */
    CHAT_MEDIA_SIXEL, /* by the program img2sixel; without it, by a link */
    CHAT_MEDIA_LINK   /* only a link to the file */
};

struct chat_media {
    enum chat_media_mode mode;
    bool links;     /* standard error is a terminal that understands hyperlinks: it has colours */
    uint32_t count; /* files saved by this process */
};

/* Reads the value of --images. False for another word, which the table of options excludes. */
bool chat_media_mode_read(const char *text, enum chat_media_mode *mode);
/* Saves and shows a part with `data`, or prints the `url` of one. Prints an error if it cannot be saved. */
void chat_media_show(struct chat_media *media, tn_value part);

#endif
