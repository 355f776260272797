//! Links and fences in Markdown files.

/// The lines outside fences, and what stands behind the opening of each fence.
fn outside_and_fences(markdown: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut outside, mut fences, mut inside) = (Vec::new(), Vec::new(), false);
    for line in markdown.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(language) if !inside => fences.push(language.trim()),
            None if !inside => outside.push(line),
            _ => {}
        }
        inside ^= line.trim_start().starts_with("```");
    }
    (outside, fences)
}

/// The text outside fences and generated parts.
#[must_use]
pub fn prose(markdown: &str) -> String {
    let (outside, _) = outside_and_fences(markdown);
    let mut generated = false;
    let written = outside.into_iter().filter(|line| {
        generated |= line.trim_end().ends_with(":begin -->");
        let written = !generated;
        generated &= !line.trim_end().ends_with(":end -->");
        written
    });
    written.collect::<Vec<_>>().join("\n")
}

/// The languages of the fences; empty where one names none.
#[must_use]
pub fn languages(markdown: &str) -> Vec<&str> {
    outside_and_fences(markdown).1
}

/// The targets of all links to other files and to headings: those outside fences and code spans that name no scheme.
#[must_use]
pub fn relative(markdown: &str) -> Vec<String> {
    let (outside, _) = outside_and_fences(markdown);
    let prose = outside.iter().flat_map(|line| line.split('`').step_by(2).chain(["`"])).collect::<String>();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
}

/// The anchors of the headings, as mdBook makes them.
#[must_use]
pub fn anchors(markdown: &str) -> Vec<String> {
    let (outside, _) = outside_and_fences(markdown);
    let headings = outside
        .iter()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    headings.map(anchor).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}
