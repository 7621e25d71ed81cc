"""One self-contained HTML page about a run, a comparison or a tournament.

    sources          what a folder holds, and its small files
    plays            which recorded plays are shown: an index of all, a sample over what differs
    transcripts      a play as the page's script reads it
    series           metrics of runs, read line by line
    panels           charts as data, drawn on matplotlib axes with the colours of strokes
    run_panels       the charts of training
    charts           charts as files and as SVG that takes the colours of the page
    markup           headings, tables and notes in HTML; whatever is not ours is escaped
    run_part         what is said about a run,
    comparison_part  about a comparison, with tables_part and pairs_part,
    tournament_part  and about a tournament, with ratings_part
    page             all of it in one file

The page asks nothing of the network, and the same folder always gives the same bytes.
"""
