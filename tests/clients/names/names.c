/*
 * Preloaded into a client program, it answers for names below one domain, which no name server knows: they are all at
 * 127.0.0.1. SKEIN_CLIENT_DOMAIN has the domain. Every other name goes to the C library, as if this were not there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef int resolve(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int is_below(const char *name, const char *domain)
{
    size_t longer = strlen(name), shorter = strlen(domain);
    return longer > shorter && name[longer - shorter - 1] == '.' && !strcasecmp(name + longer - shorter, domain);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    resolve *real = (resolve *) dlsym(RTLD_NEXT, "getaddrinfo");
    const char *domain = getenv("SKEIN_CLIENT_DOMAIN");
    /* Who asks whether the name is an address hears that it is none. */
    int is_about_addresses = hints && (hints->ai_flags & AI_NUMERICHOST);
    if (name && domain && !is_about_addresses && is_below(name, domain))
        name = "127.0.0.1";
    return real ? real(name, service, hints, found) : EAI_SYSTEM;
}
