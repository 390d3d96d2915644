//! The graph of a blueprint as a picture: Mermaid for documents, SVG for everything else.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::SocketAddr;

use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::geometry::{get_size_for_str, pad_shape_scalar};
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use skein_config::blueprint::{Listener, VirtualCluster};
use skein_config::{Blueprint, visible};
use skein_protocol::ids::RealNodeId;
use skein_routing::graph::{Level, Target};

/// What is drawn: virtual clusters, routers and clusters, and the routes between them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Picture {
    boxes: Vec<Drawn>,
    arrows: BTreeSet<(usize, usize, String)>,
}

/// Something with a place in the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Drawn {
    shape: Shape,
    /// What makes it the same thing when it is reached again.
    name: String,
    lines: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    VirtualCluster,
    Router,
    Cluster,
}

impl Picture {
    /// The picture of a blueprint. A router or cluster that is reached twice is drawn once.
    pub fn of(blueprint: &Blueprint) -> Self {
        let mut picture = Self::default();
        for cluster in &blueprint.virtual_clusters {
            let from = picture.place(Shape::VirtualCluster, &cluster.name, || listeners(cluster));
            picture.follow(from, String::new(), &cluster.target, blueprint);
        }
        picture
    }

    fn place(&mut self, shape: Shape, name: &str, lines: impl FnOnce() -> Vec<String>) -> usize {
        let known = self.boxes.iter().position(|drawn| drawn.shape == shape && drawn.name == name);
        known.unwrap_or_else(|| {
            self.boxes.push(Drawn { shape, name: name.to_owned(), lines: lines() });
            self.boxes.len() - 1
        })
    }

    fn follow(&mut self, from: usize, label: String, target: &Target, blueprint: &Blueprint) {
        match target {
            Target::Cluster(index) => {
                let Some(cluster) = blueprint.clusters.get(usize::from(index.0)) else { return };
                let to = self.place(Shape::Cluster, &cluster.name, || vec![nodes(&cluster.nodes)]);
                self.arrows.insert((from, to, label));
            }
            Target::Router(level) => {
                let to = self.place(Shape::Router, &level.name, || vec![level.kind.to_string()]);
                self.arrows.insert((from, to, label));
                self.routes(to, level, blueprint);
            }
        }
    }

    fn routes(&mut self, from: usize, level: &Level, blueprint: &Blueprint) {
        for (id, route) in &level.routes {
            self.follow(from, format!("{} ({})", route.name, id.0), &route.target, blueprint);
        }
    }

    /// As a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        let mut text = "flowchart LR\n".to_owned();
        for (number, drawn) in self.boxes.iter().enumerate() {
            let (open, close) = match drawn.shape {
                Shape::VirtualCluster => ("([", "])"),
                Shape::Router => ("{{", "}}"),
                Shape::Cluster => ("[(", ")]"),
            };
            let label = drawn.label().iter().map(|line| escaped(line)).collect::<Vec<_>>().join("<br/>");
            let _ = writeln!(text, "    n{number}{open}\"{label}\"{close}");
        }
        for (from, to, label) in &self.arrows {
            let _ = match label.as_str() {
                "" => writeln!(text, "    n{from} --> n{to}"),
                label => writeln!(text, "    n{from} -- \"{}\" --> n{to}", escaped(label)),
            };
        }
        text
    }

    /// As an SVG document; `None`: there is more than can be laid out in a moment.
    pub fn svg(&self) -> Option<String> {
        if self.boxes.len() > MOST_DRAWN {
            return None;
        }
        let mut graph = VisualGraph::new(Orientation::LeftToRight);
        let handles: Vec<_> = self.boxes.iter().map(|drawn| graph.add_node(drawn.element())).collect();
        for (from, to, label) in &self.arrows {
            if let (Some(from), Some(to)) = (handles.get(*from), handles.get(*to)) {
                graph.add_edge(Arrow::simple(label), *from, *to);
            }
        }
        let mut writer = SVGWriter::new();
        graph.do_it(false, false, false, &mut writer);
        Some(writer.finalize())
    }
}

impl Drawn {
    fn label(&self) -> Vec<String> {
        std::iter::once(&self.name).chain(&self.lines).map(|line| visible(line)).collect()
    }

    fn element(&self) -> Element {
        let text = self.label().join("\n");
        let mut style = StyleAttr::simple();
        let shape = match self.shape {
            Shape::VirtualCluster => {
                style.rounded = 12;
                ShapeKind::new_box(&text)
            }
            Shape::Router => ShapeKind::new_circle(&text),
            Shape::Cluster => ShapeKind::new_box(&text),
        };
        let text = get_size_for_str(&text, style.font_size);
        Element::create(shape, style, Orientation::LeftToRight, pad_shape_scalar(text, PADDING))
    }
}

/// Boxes that are laid out: the time that it takes grows with the square of them.
const MOST_DRAWN: usize = 200;

/// Between a text and the line around it, in points.
const PADDING: f64 = 24.0;

/// The bootstrap addresses of a virtual cluster.
fn listeners(cluster: &VirtualCluster) -> Vec<String> {
    let bootstrap = |binds: &[(SocketAddr, _)]| binds.first().map(|(bind, _)| bind.to_string()).unwrap_or_default();
    let shown = |listener: &Listener| match &listener.names {
        None => format!("{} {}", listener.name, bootstrap(&listener.binds)),
        Some(names) => format!("{} {} {}", listener.name, bootstrap(&listener.binds), names.shown.join(", ")),
    };
    cluster.listeners.iter().map(shown).collect()
}

/// Node ids; of many only the ends.
fn nodes(nodes: &[RealNodeId]) -> String {
    let list = |nodes: &[RealNodeId]| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match nodes {
        [first, second, .., last] if nodes.len() > 8 => {
            format!("{} nodes: {first}, {second} … {last}", nodes.len())
        }
        few => format!("nodes {}", list(few)),
    }
}

/// Text between the quotes of a Mermaid label: what would end it, or would be taken for markup, is spelt out.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '#' | '<' | '>' | '&' | '`' => {
                let _ = write!(out, "#{};", u32::from(letter));
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_box_and_route_is_in_the_flowchart() {
        let expected = r#"flowchart LR
    n0(["main<br/>plain 127.0.0.1:9092"])
    n1{{"outer<br/>disguise"}}
    n2{{"inner<br/>disguise"}}
    n3[("one<br/>nodes 1, 7, 1001")]
    n0 --> n1
    n1 -- "only (0)" --> n2
    n2 -- "all (0)" --> n3
"#;
        assert_eq!(Picture::of(&crate::example::masked()).mermaid(), expected);
    }

    #[test]
    fn every_name_is_in_the_svg() {
        let svg = Picture::of(&crate::example::masked()).svg().unwrap();
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for name in ["main", "outer", "inner", "one", "nodes 1, 7, 1001", "only (0)"] {
            assert!(svg.contains(name), "{name} is missing");
        }
    }

    #[test]
    fn of_many_nodes_only_the_ends_are_shown() {
        let many: Vec<_> = (1..=200).map(RealNodeId).collect();
        assert_eq!(nodes(&many), "200 nodes: 1, 2 … 200");
    }

    #[test]
    fn a_name_cannot_end_its_label() {
        assert_eq!(escaped("a\"] --> b\n<b>#"), "a#34;] --#62; b #60;b#62;#35;");
    }
}
