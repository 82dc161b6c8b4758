/*
 * service_notify.h - reports to the service manager (systemd, Type=notify) what this process does.
 *
 *     service_notify("READY=1");
 *
 * Nothing happens if the environment has no NOTIFY_SOCKET, or if no socket listens there. Thread: any.
 */
#ifndef TENON_HOST_PROGRAM_SERVICE_NOTIFY_H
#define TENON_HOST_PROGRAM_SERVICE_NOTIFY_H

void service_notify(const char *state);

#endif
