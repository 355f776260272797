//! Scenes: cameras, points, and where cameras saw points. Read from a file in the format of *Bundle Adjustment in the
//! Large*, or made.

use crate::camera::image;
use tapewright::prelude::*;
use tapewright_ecosystem::text::{TextError, Words};
use tapewright_problems::random::SplitMix64;

/// Cameras and points, and what was seen.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) cameras: Vec<[f64; 9]>,
    pub(crate) points: Vec<[f64; 3]>,
    pub(crate) seen: Vec<Seen>,
}

/// A point that a camera saw, and where in its image.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) camera: usize,
    pub(crate) point: usize,
    pub(crate) place: [f64; 2],
}

/// Reads finite numbers of something with an index.
fn numbers<const N: usize>(words: &mut Words<'_>, of: &str, k: usize) -> Result<[f64; N], TextError> {
    let mut numbers = [0.0; N];
    for (n, number) in numbers.iter_mut().enumerate() {
        *number = words.number(|| format!("parameter {n} of {of} {k}, a finite number"))?;
    }
    Ok(numbers)
}

impl Scene {
    /// Reads a scene: the numbers of cameras, points and observations; for each observation a camera, a point and the
    /// place; nine parameters of each camera, and three of each point.
    pub(crate) fn read(text: &str) -> Result<Self, TextError> {
        let mut words = Words::of_file(text);
        let [cameras, points] = [words.count("cameras")?, words.count("points")?];
        let observations = words.count("observations")?;
        let mut seen = Vec::new();
        for k in 0..observations {
            let (camera, point) = (words.index("camera", cameras)?, words.index("point", points)?);
            let place = [0, 1].map(|n| words.number(|| format!("coordinate {n} of observation {k}, a finite number")));
            let [x, y] = place;
            seen.push(Seen { camera, point, place: [x?, y?] });
        }
        let cameras = (0..cameras).map(|k| numbers(&mut words, "camera", k)).collect::<Result<_, _>>()?;
        let points = (0..points).map(|k| numbers(&mut words, "point", k)).collect::<Result<_, _>>()?;
        words.end()?;
        Ok(Self { cameras, points, seen })
    }

    /// Cameras around a cloud of points, each of which sees three tenths of them, half a pixel off; cameras and points
    /// are not quite where they are then.
    pub(crate) fn made(cameras: usize, points: usize) -> Self {
        let mut random = SplitMix64::new(7);
        let camera = |k: usize| {
            let turn = core::f64::consts::TAU * k as f64 / cameras as f64;
            [0.05 * turn.sin(), 0.6 * turn.cos(), 0.02, 0.1 * turn.cos(), 0.1, -6.0, 900.0 + k as f64, -0.05, 0.01]
        };
        let mut scene = Self {
            cameras: (0..cameras).map(camera).collect(),
            points: (0..points).map(|_| [0; 3].map(|_| random.float(-1.0, 1.0))).collect(),
            seen: Vec::new(),
        };
        for point in 0..points {
            for camera in (0..cameras).filter(|camera| (point * 7 + camera * 13) % 10 < 3) {
                let of = |numbers: &[f64]| Real::<Passive>::wrap_slice(numbers).to_vec();
                let [x, y] = image(&of(&scene.cameras[camera]), &of(&scene.points[point]));
                let place = [x, y].map(|place| place.value() + random.float(-0.5, 0.5));
                scene.seen.push(Seen { camera, point, place });
            }
        }
        let mut off = |number: &mut f64, size: f64| *number += size * random.float(-1.0, 1.0);
        scene.points.iter_mut().flatten().for_each(|x| off(x, 0.1));
        for camera in &mut scene.cameras {
            camera[..6].iter_mut().for_each(|x| off(x, 0.02));
            off(&mut camera[6], 20.0);
        }
        scene
    }
}

#[cfg(test)]
mod tests {
    use super::Scene;

    const FILE: &str = "1 2 2\n0 0 1.5 -2.5\n0 1 0.5 1e-1\n1\n2\n3\n4\n5\n6\n7\n8\n9\n\n1 2 3\n4 5 6\n";

    fn error(text: &str) -> String {
        Scene::read(text).expect_err("no scene").to_string()
    }

    #[test]
    fn a_scene_is_read() {
        let scene = Scene::read(FILE).expect("a scene");
        assert_eq!(scene.cameras, [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]);
        assert_eq!(scene.points, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let seen: Vec<_> = scene.seen.iter().map(|seen| (seen.camera, seen.point, seen.place)).collect();
        assert_eq!(seen, [(0, 0, [1.5, -2.5]), (0, 1, [0.5, 0.1])]);
    }

    #[test]
    fn errors_say_the_line() {
        assert_eq!(error("1 x 2"), "line 1: found \"x\", expected the number of points");
        let expected = "line 3: found \"2\", expected the index of a point, counted from 0, of 2";
        assert_eq!(error(&FILE.replace("0 1 0.5", "0 2 0.5")), expected);
        let expected = "line 3: found \"nan\", expected coordinate 1 of observation 1, a finite number";
        assert_eq!(error(&FILE.replace("1e-1", "nan")), expected);
        let expected = "the file ends in line 15, expected parameter 2 of point 1, a finite number";
        assert_eq!(error(FILE.trim_end_matches(" 6\n")), expected);
        assert_eq!(error(&format!("{FILE}7")), "line 16: found \"7\", expected the end of the file");
        assert_eq!(error(""), "the file ends in line 1, expected the number of cameras");
    }
}
