"""Which addresses of the Internet an outbound call may reach: public unicast ones, and nothing that leads back inside."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# Named one by one: is_global says yes to NAT64 and to multicast, and what it says changes between Python's releases.
_FORBIDDEN: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by carriers (CGNAT)"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "a cloud's own service"),
    ("169.254.0.0/16", "link-local, where clouds keep their metadata"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "reserved"),
    ("192.52.193.0/24", "reserved"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "reserved"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/96", "loopback, unspecified or IPv4-compatible"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64 for local use"),
    ("100::/64", "discarded"),
    ("2001::/23", "reserved (Teredo, ORCHID)"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_NETWORKS = tuple((ip_network(text), why) for text, why in _FORBIDDEN)
_GLOBAL_UNICAST = IPv6Network("2000::/3")


def forbidden(address: Address) -> str | None:
    """Say why nobody may be sent there; None when the address is public."""
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return "link-local"
    for network, why in _NETWORKS:
        if address in network:
            return why
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "not global unicast"
    return None if address.is_global else "not public"


def read_address(text: str) -> Address:
    """Read an address as a resolver writes it; a ValueError when it is none."""
    return ip_address(text)
