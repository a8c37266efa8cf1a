"""The database, the bodies and the data directory; the only room that knows peewee."""
