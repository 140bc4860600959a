#include <mosquitto.h>
#include <mqtt_protocol.h>
/* What the network loop is woken by; Swift's Glibc module leaves it out. */
#include <sys/eventfd.h>
