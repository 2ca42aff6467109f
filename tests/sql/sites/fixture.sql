.read code.sql
