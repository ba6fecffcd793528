"""DNS messages (RFC 1035 4): records of the types that lead to addresses, questions and replies, and a small client."""
import collections
import ipaddress
import socket
import struct

TYPES = {"A": 1, "CNAME": 5, "AAAA": 28, "SRV": 33}
OPT = 41
NAMES = {number: name for name, number in TYPES.items()}
CODES = {"NOERROR": 0, "FORMERR": 1, "SERVFAIL": 2, "NXDOMAIN": 3, "NOTIMP": 4, "REFUSED": 5}
IN, RESPONSE, TRUNCATED = 1, 0x8180, 0x0200

Record = collections.namedtuple("Record", "type data ttl")  # data: an address, a name, or Service
Service = collections.namedtuple("Service", "priority weight port target")
Question = collections.namedtuple("Question", "id name type room")  # room: bytes that the asker takes by UDP
Reply = collections.namedtuple("Reply", "id code truncated answers additional")  # lists of (owner, Record)


def a(address, ttl=60):
    return Record("A", address, ttl)


def aaaa(address, ttl=60):
    return Record("AAAA", address, ttl)


def cname(target, ttl=60):
    return Record("CNAME", target, ttl)


def srv(port, target, priority=0, weight=1, ttl=60):
    return Record("SRV", Service(priority, weight, port, target), ttl)


# ---- writing


def pack_name(name):
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def _pack_data(record):
    if record.type in ("A", "AAAA"):
        return ipaddress.ip_address(record.data).packed
    if record.type == "CNAME":
        return pack_name(record.data)
    service = record.data
    return struct.pack("!HHH", service.priority, service.weight, service.port) + pack_name(service.target)


def _pack_record(owner, record):
    data = _pack_data(record)
    return pack_name(owner) + struct.pack("!HHIH", TYPES[record.type], IN, record.ttl, len(data)) + data


def pack_question(identity, name, kind):
    return struct.pack("!6H", identity, 0x0100, 1, 0, 0, 0) + pack_name(name) + struct.pack("!HH", TYPES[kind], IN)


def pack_reply(question, answers, additional=(), code="NOERROR", truncated=False):
    """`answers`, `additional`: (owner, record) each."""
    flags = RESPONSE | CODES[code] | (TRUNCATED if truncated else 0)
    head = struct.pack("!6H", question.id, flags, 1, len(answers), 0, len(additional))
    asked = pack_name(question.name) + struct.pack("!HH", TYPES.get(question.type, question.type), IN)
    return head + asked + b"".join(_pack_record(*each) for each in [*answers, *additional])


# ---- reading


def read_name(message, at):
    """(name, where it ends)."""
    labels, end = [], None
    while length := message[at]:
        if length >= 0xC0:
            end = end or at + 2
            at = (length & 0x3F) << 8 | message[at + 1]
            assert len(labels) < 128, "names that point in a circle"
            continue
        labels.append(message[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels), end or at + 1


def _read_data(message, kind, at, length):
    if kind in ("A", "AAAA"):
        return str(ipaddress.ip_address(message[at : at + length]))
    if kind == "CNAME":
        return read_name(message, at)[0]
    return Service(*struct.unpack_from("!HHH", message, at), read_name(message, at + 6)[0])


def _read_record(message, at):
    owner, at = read_name(message, at)
    kind, size, ttl, length = struct.unpack_from("!HHIH", message, at)
    data_at = at + 10
    if kind in NAMES:
        record = Record(NAMES[kind], _read_data(message, NAMES[kind], data_at, length), ttl)
    else:
        record = Record(kind, size, ttl)  # of OPT the class is the asker's room
    return owner, record, data_at + length


def _read_records(message, at, count):
    records = []
    for _ in range(count):
        owner, record, at = _read_record(message, at)
        records.append((owner, record))
    return records, at


def read_question(message):
    identity, _, _, answers, authorities, additional = struct.unpack_from("!6H", message)
    name, at = read_name(message, 12)
    kind, _ = struct.unpack_from("!HH", message, at)
    records, _ = _read_records(message, at + 4, answers + authorities + additional)
    rooms = [record.data for _, record in records if record.type == OPT]
    return Question(identity, name, NAMES.get(kind, kind), max([512, *rooms]))


def read_reply(message):
    identity, flags, questions, answers, authorities, additional = struct.unpack_from("!6H", message)
    at = 12
    for _ in range(questions):
        at = read_name(message, at)[1] + 4
    answered, at = _read_records(message, at, answers)
    _, at = _read_records(message, at, authorities)
    more, _ = _read_records(message, at, additional)
    code = {number: name for name, number in CODES.items()}[flags & 15]
    return Reply(identity, code, bool(flags & TRUNCATED), answered, [each for each in more if each[1].type != OPT])


# ---- asking


def read_exactly(sock, count):
    """None when the peer ended before the first byte."""
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            assert not data, "a message by TCP broke off"
            return None
        data += piece
    return data


def read_framed(sock):
    """One message by TCP, or None."""
    head = read_exactly(sock, 2)
    return head and read_exactly(sock, struct.unpack("!H", head)[0])


def frame(message):
    return struct.pack("!H", len(message)) + message


def ask(address, name, kind="A", tcp=False, within=10):
    """One question to ADDRESS:PORT; its Reply."""
    host, _, port = address.rpartition(":")
    message = pack_question(4711, name, kind)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as sock:
        sock.settimeout(within)
        sock.connect((host, int(port)))
        sock.send(frame(message) if tcp else message)
        reply = read_reply(read_framed(sock) if tcp else sock.recv(65536))
    assert reply.id == 4711
    return reply
