/*
 * vertex.c - where a model is: AI Studio has one host, Vertex one for each location.
 *
 * A model's name may be whole ("publishers/…", "projects/…", "tunedModels/…") or short. What would lead elsewhere on
 * the host than to a model is refused: a document's text is not to choose other methods.
 */
#include "gemini.h"

static bool is_plain(const char *name) {
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || strchr("?#&%\\:", *at) != NULL) return false;
    return *name != '\0' && *name != '/' && strstr(name, "..") == NULL && strstr(name, "//") == NULL;
}

/* Of a part of a host's name, or of a path: neither may end it. */
static bool is_label(const char *name) {
    for (const char *at = name; *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '-' || *at == '.')) return false;
    return *name != '\0' && *name != '.';
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* "example.com:project" is a project of Google's older kind. */
static bool is_project(const char *name) {
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || strchr("/?#&%\\", *at) != NULL) return false;
    return *name != '\0';
}

static bool fits(int length) { return length > 0 && length < GEMINI_PATH_MAX; }

static bool locate_model(struct gemini *gemini, const char *model, bool vertex) {
    const char *slash = strchr(model, '/');
    if (begins(model, "models/") || begins(model, "publishers/") || begins(model, "projects/") ||
        begins(model, "tunedModels/"))
        return fits(snprintf(gemini->model, GEMINI_PATH_MAX, "%s", model));
    if (!vertex) return fits(snprintf(gemini->model, GEMINI_PATH_MAX, "models/%s", model));
    if (slash == NULL) return fits(snprintf(gemini->model, GEMINI_PATH_MAX, "publishers/google/models/%s", model));
    return fits(
        snprintf(gemini->model, GEMINI_PATH_MAX, "publishers/%.*s/models/%s", (int)(slash - model), model, slash + 1));
}

static int vertex_host(char out[GEMINI_PATH_MAX], const char *location) {
    if (strcmp(location, "global") == 0)
        return snprintf(out, GEMINI_PATH_MAX, "https://aiplatform.googleapis.com/v1beta1");
    if (strcmp(location, "us") == 0 || strcmp(location, "eu") == 0)
        return snprintf(out, GEMINI_PATH_MAX, "https://aiplatform.%s.rep.googleapis.com/v1beta1", location);
    return snprintf(out, GEMINI_PATH_MAX, "https://%s-aiplatform.googleapis.com/v1beta1", location);
}

bool gemini_locate(struct gemini *gemini, const char *model, const char *base_url, const char *project,
                   const char *location, char message[256]) {
    char host[GEMINI_PATH_MAX];
    bool vertex = project != NULL;
    if (!is_plain(model)) {
        (void)snprintf(message, 256, "`model` is \"%.100s\"; expected a model's name, such as gemini-2.5-flash", model);
        return false;
    }
    if (vertex && (!is_project(project) || !is_label(location))) {
        (void)snprintf(
            message, 256,
            "`project` is \"%.60s\" and `location` \"%.40s\"; expected a project's id and a location such as "
            "asia-northeast1 or global",
            project, location);
        return false;
    }
    bool well = locate_model(gemini, model, vertex);
    if (base_url != NULL)
        well = well && fits(snprintf(host, sizeof host, "%s", base_url));
    else
        well = well && fits(vertex ? vertex_host(host, location) : snprintf(host, sizeof host, "%s", GEMINI_BASE_URL));
    size_t length = well ? strlen(host) : 0;
    while (length > 0 && host[length - 1] == '/') host[--length] = '\0';
    if (vertex && !begins(gemini->model, "projects/"))
        well = well &&
               fits(snprintf(gemini->base, GEMINI_PATH_MAX, "%s/projects/%s/locations/%s", host, project, location));
    else
        well = well && fits(snprintf(gemini->base, GEMINI_PATH_MAX, "%s", host));
    if (!well)
        (void)snprintf(message, 256, "base_url, project, location and model are longer than %d bytes together",
                       GEMINI_PATH_MAX);
    return well;
}

const char *gemini_short_name(const struct gemini *gemini) {
    const char *slash = strrchr(gemini->model, '/');
    return slash != NULL ? slash + 1 : gemini->model;
}
