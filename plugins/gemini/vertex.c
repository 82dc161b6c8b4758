/*
 * vertex.c - builds a model's address. AI Studio has one host; Vertex has one for each location.
 *
 * A model's name may be a path ("publishers/…", "projects/…", "tunedModels/…") or short. Names that could address
 * anything but a model are refused, so that a document cannot call other methods of the host.
 */
#include "gemini.h"

static bool vertex_name_is_plain(const char *name) {
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || strchr("?#&%\\:", *at) != NULL) return false;
    return *name != '\0' && *name != '/' && strstr(name, "..") == NULL && strstr(name, "//") == NULL;
}

static bool vertex_starts_with(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static bool vertex_address_fits(int length) { return length > 0 && length < GEMINI_PATH_MAX; }

static bool vertex_set_model(struct gemini *gemini, const char *model, bool vertex) {
    const char *slash = strchr(model, '/');
    if (vertex_starts_with(model, "models/") || vertex_starts_with(model, "publishers/") ||
        vertex_starts_with(model, "projects/") || vertex_starts_with(model, "tunedModels/"))
        return vertex_address_fits(snprintf(gemini->model, GEMINI_PATH_MAX, "%s", model));
    if (!vertex) return vertex_address_fits(snprintf(gemini->model, GEMINI_PATH_MAX, "models/%s", model));
    if (slash == NULL)
        return vertex_address_fits(snprintf(gemini->model, GEMINI_PATH_MAX, "publishers/google/models/%s", model));
    return vertex_address_fits(
        snprintf(gemini->model, GEMINI_PATH_MAX, "publishers/%.*s/models/%s", (int)(slash - model), model, slash + 1));
}

static int vertex_format_host(char out[GEMINI_PATH_MAX], const char *location) {
    char host[GOOGLE_HOST_MAX];
    int length = google_format_vertex_host(host, location);
    if (length < 0 || length >= GOOGLE_HOST_MAX) return GEMINI_PATH_MAX;
    return snprintf(out, GEMINI_PATH_MAX, "%s/v1beta1", host);
}

bool gemini_build_address(struct gemini *gemini, const char *model, const char *base_url, const char *project,
                          const char *location, char message[256]) {
    char host[GEMINI_PATH_MAX];
    bool vertex = project != NULL;
    if (!vertex_name_is_plain(model)) {
        (void)snprintf(message, 256, "`model` is \"%.100s\"; expected a model's name, such as gemini-2.5-flash", model);
        return false;
    }
    if (vertex && (!google_project_is_valid(project) || !google_location_is_valid(location))) {
        (void)snprintf(
            message, 256,
            "`project` is \"%.60s\" and `location` \"%.40s\"; expected a project's id and a location such as "
            "asia-northeast1 or global",
            project, location);
        return false;
    }
    bool ok = vertex_set_model(gemini, model, vertex);
    if (base_url != NULL)
        ok = ok && vertex_address_fits(snprintf(host, sizeof host, "%s", base_url));
    else
        ok = ok && vertex_address_fits(vertex ? vertex_format_host(host, location)
                                              : snprintf(host, sizeof host, "%s", GEMINI_BASE_URL));
    size_t length = ok ? strlen(host) : 0;
    while (length > 0 && host[length - 1] == '/') host[--length] = '\0';
    if (vertex && !vertex_starts_with(gemini->model, "projects/"))
        ok = ok && vertex_address_fits(
                       snprintf(gemini->base, GEMINI_PATH_MAX, "%s/projects/%s/locations/%s", host, project, location));
    else
        ok = ok && vertex_address_fits(snprintf(gemini->base, GEMINI_PATH_MAX, "%s", host));
    if (!ok)
        (void)snprintf(message, 256, "base_url, project, location and model are longer than %d bytes together",
                       GEMINI_PATH_MAX);
    return ok;
}

const char *gemini_get_short_name(const struct gemini *gemini) {
    const char *slash = strrchr(gemini->model, '/');
    return slash != NULL ? slash + 1 : gemini->model;
}
