// The cheapest possible subscriber, for comparison: libmosquitto, its thread, a counter.
//
// bare PORT FILE FILTER: counts messages of a filter in the first eight bytes of FILE, for other processes to read.

#include <fcntl.h>
#include <mosquitto.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t *count;
static const char *filter;

static void on_connect(struct mosquitto *client, void *context, int code) {
    (void)context;
    if (code != 0) {
        fprintf(stderr, "bare: %s\n", mosquitto_connack_string(code));
        exit(1);
    }
    mosquitto_subscribe(client, NULL, filter, 1);
}

static void on_subscribe(struct mosquitto *client, void *context, int id, int filters, const int *granted) {
    (void)client, (void)context, (void)id, (void)filters, (void)granted;
    puts("ready");
    fflush(stdout);
}

static void on_message(struct mosquitto *client, void *context, const struct mosquitto_message *message) {
    (void)client, (void)context, (void)message;
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: bare PORT FILE FILTER\n");
        return 1;
    }
    filter = argv[3];
    int file = open(argv[2], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *count) != 0) {
        perror(argv[2]);
        return 1;
    }
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new("bare", true, NULL);
    mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_connect_callback_set(client, on_connect);
    mosquitto_subscribe_callback_set(client, on_subscribe);
    mosquitto_message_callback_set(client, on_message);
    int code = mosquitto_connect(client, "127.0.0.1", atoi(argv[1]), 60);
    if (code == MOSQ_ERR_SUCCESS) code = mosquitto_loop_start(client);
    if (code != MOSQ_ERR_SUCCESS) {
        fprintf(stderr, "bare: %s\n", mosquitto_strerror(code));
        return 1;
    }
    for (;;) pause();
}
