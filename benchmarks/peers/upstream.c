/* The upstream of the compared gateways: an HTTP server with prepared Chat Completions. One thread, one epoll.

   Usage: upstream PORT MODEL

   An answer has 64 tokens. All streamed answers to requests for the model "paced" share one timer of 50 ticks a
   second, and get one token at each tick, as from an engine that computes them in one batch. A streamed answer to
   a request for any other model leaves in one write. GET /v1/models lists MODEL alone, because a gateway may
   know one model of a server only. Connections are kept alive. A request must have a Content-Length, and must fit
   into REQUEST_BYTES. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { TOKENS = 64, PACE = 50, REQUEST_BYTES = 1 << 16, CONNECTIONS = 4096, EVENTS = 256 };

typedef struct {
    char *bytes;
    size_t length, capacity;
} Text;

typedef struct {
    char received[REQUEST_BYTES + 1];
    size_t length;
    int next;  /* the token that a paced stream gets at the next tick */
    int usage; /* the stream ends with an event that holds the usage */
} Connection;

static Text whole, instant[2], models, health, missing, tokens[TOKENS], ends[2]; /* [1]: with the usage */
static const char STREAM_HEAD[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
static Connection *connections[CONNECTIONS]; /* by file descriptor */
static int paced[CONNECTIONS], paced_count;  /* the descriptors of the paced streams */
static int epoll_fd, timer_fd;

static void append(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *added;
    int length = vasprintf(&added, format, arguments);
    va_end(arguments);
    if (length < 0) exit(1);
    if (text->length + (size_t)length > text->capacity) {
        text->capacity = 2 * (text->length + (size_t)length);
        text->bytes = realloc(text->bytes, text->capacity);
        if (!text->bytes) exit(1);
    }
    memcpy(text->bytes + text->length, added, (size_t)length);
    text->length += (size_t)length;
    free(added);
}

static void append_chunk(Text *text, const char *data)
{
    append(text, "%zx\r\n%s\r\n", strlen(data), data);
}

/* ---- prepared answers */

#define USAGE "{\"prompt_tokens\":200,\"completion_tokens\":64,\"total_tokens\":264}"
#define CHUNK "data: {\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"instant\","

static void prepare_whole(void)
{
    Text body = {0};
    append(&body, "{\"id\":\"chatcmpl-0\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"instant\",\"choices\":"
                  "[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":\"");
    for (int index = 0; index < TOKENS; index++) append(&body, index ? " tok%d" : "tok%d", index);
    append(&body, "\"}}],\"usage\":" USAGE "}");
    append(&whole, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%.*s", body.length,
           (int)body.length, body.bytes);
    free(body.bytes);
}

static void prepare_stream(void)
{
    char event[512];
    for (int index = 0; index < TOKENS; index++) {
        snprintf(event, sizeof event,
                 CHUNK "\"choices\":[{\"index\":0,\"delta\":{%s\"content\":\"%stok%d\"},\"finish_reason\":null}]}\n\n",
                 index ? "" : "\"role\":\"assistant\",", index ? " " : "", index);
        append_chunk(&tokens[index], event);
    }
    for (int usage = 0; usage < 2; usage++) {
        append_chunk(&ends[usage], CHUNK "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
        if (usage) append_chunk(&ends[usage], CHUNK "\"choices\":[],\"usage\":" USAGE "}\n\n");
        append_chunk(&ends[usage], "data: [DONE]\n\n");
        append(&ends[usage], "0\r\n\r\n");
        append(&instant[usage], "%s", STREAM_HEAD);
        for (int index = 0; index < TOKENS; index++)
            append(&instant[usage], "%.*s", (int)tokens[index].length, tokens[index].bytes);
        append(&instant[usage], "%.*s", (int)ends[usage].length, ends[usage].bytes);
    }
}

static void prepare_json(Text *text, const char *status, const char *body)
{
    append(text, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", status,
           strlen(body), body);
}

static void prepare_others(const char *model)
{
    Text list = {0};
    append(&list, "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"created\":1,"
                  "\"owned_by\":\"upstream\"}]}%c", model, 0);
    prepare_json(&models, "200 OK", list.bytes);
    prepare_json(&health, "200 OK", "{}");
    prepare_json(&missing, "404 Not Found", "{\"error\":{\"message\":\"there is no such path\"}}");
    free(list.bytes);
}

/* ---- connections */

static void close_connection(int fd)
{
    for (int index = 0; index < paced_count; index++)
        if (paced[index] == fd) paced[index--] = paced[--paced_count];
    free(connections[fd]);
    connections[fd] = NULL;
    close(fd);
}

/* Answers are small, so a client whose socket is full does not read: it is closed. Returns whether all is sent. */
static int send_all(int fd, const char *bytes, size_t length)
{
    if (send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length) return 1;
    close_connection(fd);
    return 0;
}

static int send_text(int fd, const Text *text)
{
    return send_all(fd, text->bytes, text->length);
}

static void set_timer(int on)
{
    struct itimerspec period = {0};
    if (on) period.it_interval.tv_nsec = period.it_value.tv_nsec = 1000000000 / PACE;
    timerfd_settime(timer_fd, 0, &period, NULL);
}

static void tick(void)
{
    uint64_t ticks;
    if (read(timer_fd, &ticks, sizeof ticks) < 0) return;
    for (int index = paced_count - 1; index >= 0; index--) { /* backwards, because a stream that ends leaves the list */
        int fd = paced[index];
        Connection *connection = connections[fd];
        int token = connection->next++;
        if (!send_text(fd, &tokens[token])) continue;
        if (token < TOKENS - 1) continue;
        paced[index] = paced[--paced_count];
        send_text(fd, &ends[connection->usage]);
    }
    if (!paced_count) set_timer(0);
}

/* Whether the JSON text has this pair; the value stands right behind the colon, or behind one space. */
static int has(const char *body, const char *name, const char *value)
{
    char compact[64], spaced[64];
    snprintf(compact, sizeof compact, "\"%s\":%s", name, value);
    snprintf(spaced, sizeof spaced, "\"%s\": %s", name, value);
    return strstr(body, compact) || strstr(body, spaced);
}

static int begins(const Connection *connection, const char *text)
{
    return !strncmp(connection->received, text, strlen(text));
}

static void answer(int fd, Connection *connection, const char *body)
{
    if (begins(connection, "GET /v1/models ")) {
        send_text(fd, &models);
        return;
    }
    if (begins(connection, "GET /health ")) {
        send_text(fd, &health);
        return;
    }
    if (!begins(connection, "POST /v1/chat/completions ")) {
        send_text(fd, &missing); /* gateways ask for what their own engines offer */
        return;
    }
    int usage = has(body, "include_usage", "true");
    if (!has(body, "stream", "true")) {
        send_text(fd, &whole);
    } else if (!has(body, "model", "\"paced\"")) {
        send_text(fd, &instant[usage]);
    } else if (send_all(fd, STREAM_HEAD, sizeof STREAM_HEAD - 1)) {
        connection->next = 0;
        connection->usage = usage;
        if (!paced_count) set_timer(1);
        paced[paced_count++] = fd;
    }
}

static void receive(int fd)
{
    Connection *connection = connections[fd];
    ssize_t count = recv(fd, connection->received + connection->length, REQUEST_BYTES - connection->length, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        close_connection(fd);
        return;
    }
    connection->length += (size_t)count;
    connection->received[connection->length] = 0;
    char *head_end = strstr(connection->received, "\r\n\r\n");
    if (!head_end) return;
    char *length = strcasestr(connection->received, "\r\ncontent-length:");
    size_t body = length && length < head_end ? strtoul(length + 17, NULL, 10) : 0;
    if (connection->length < (size_t)(head_end + 4 - connection->received) + body) return;
    connection->length = 0;
    answer(fd, connection, head_end + 4);
}

static void accept_all(int listener)
{
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= CONNECTIONS) {
            close(fd);
            continue;
        }
        connections[fd] = calloc(1, sizeof(Connection));
        if (!connections[fd]) exit(1);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static int listen_on(int port)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1024)) {
        perror("listen");
        exit(1);
    }
    return fd;
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: upstream PORT MODEL\n");
        return 2;
    }
    prepare_whole();
    prepare_stream();
    prepare_others(arguments[2]);
    int listener = listen_on(atoi(arguments[1]));
    epoll_fd = epoll_create1(0);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int watched[] = {listener, timer_fd};
    for (int index = 0; index < 2; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = watched[index]};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, watched[index], &event);
    }
    struct epoll_event events[EVENTS];
    for (;;) {
        int ready = epoll_wait(epoll_fd, events, EVENTS, -1);
        for (int index = 0; index < ready; index++) {
            int fd = events[index].data.fd;
            if (fd == listener) accept_all(listener);
            else if (fd == timer_fd) tick();
            else if (connections[fd]) receive(fd);
        }
    }
}
