# commits.py: a small database that commits each row by itself (sqlite3, write-ahead log, synchronous=FULL).
import sqlite3
db = sqlite3.connect("/opt/demo/lab/commits.db", isolation_level=None)
db.execute("pragma journal_mode=wal")
db.execute("pragma synchronous=full")
db.execute("create table if not exists t (a integer, b text)")
n = 0
while True:
    db.execute("insert into t values (?, ?)", (n, "x" * 200))
    n += 1
    if n % 2000 == 0:
        db.execute("delete from t")
