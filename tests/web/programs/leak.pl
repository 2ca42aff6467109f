# SPDX-License-Identifier: MIT
# leak.pl: parses small documents into trees whose nodes know their parent. Perl counts references: such a tree is never freed.
use strict;
use warnings;

sub add_node {
    my ($parent, $name) = @_;
    my $node = {name => $name, text => "text of $name " x 4, children => [], parent => $parent};
    push @{$parent->{children}}, $node if $parent;
    return $node;
}

for my $document (1 .. 3000) {
    my $root = add_node(undef, "document $document");
    add_node($root, "section $_") for 1 .. 5;
    select(undef, undef, undef, 0.0003);    # the next one comes a little later
}
