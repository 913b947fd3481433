# netclient.py: a client that asks a server over TCP, one request at a time. The
# server (a process of its own) thinks 3 ms about each.
import os, socket, time
lis = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    c, _ = lis.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        q = c.recv(200)
        time.sleep(0.003)
        c.sendall(b"row\n")
s = socket.create_connection(lis.getsockname())
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while True:
    s.sendall(b"select\n")
    s.recv(200)
    sum(range(4000))
