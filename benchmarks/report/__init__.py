"""One self-contained HTML page about a run, a comparison or a tournament.

    sources       what a folder holds, and its small files
    episodes      which recorded episodes are shown: an index of all, a sample over what differs
    transcripts   an episode as the page's script reads it
    curves        metrics of runs, read line by line
    charts        what charts show, drawn by matplotlib in the colours of style
    training      the charts of training
    gallery       charts as files and as SVG that takes the colours of the page
    formats       numbers as the page writes them
    run           what run.html.jinja says about a run,
    comparison    comparison.html.jinja about a comparison, with the numbers of algorithms,
    tournament    and tournament.html.jinja about a tournament
    page          all of it in one file: page.html.jinja, page.css and page.js

The page asks nothing of the network, and the same folder always gives the same bytes.
"""
