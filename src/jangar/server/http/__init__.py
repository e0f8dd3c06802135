"""HTTP for programs and for the web page. Every route stands in one table, which says who may and what it takes."""
