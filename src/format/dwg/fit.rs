//! Curves through fit points whose parameters are not chord lengths (R2013 and later, "knot parameterization").
//!
//! DXF says nothing of the parameterization, so such a curve is handed over as control points: the cubic through the
//! points with continuous curvature, its ends with the tangents as stored (their length counts), or free.

/// How the parameters of fit points follow from the points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spacing {
    /// Square roots of the chords.
    SquareRoot,
    Uniform,
}

/// A cubic B-spline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cubic {
    pub(super) control_points: Vec<[f64; 3]>,
    pub(super) knots: Vec<f64>,
}

/// The curve through `points`; `None` for less than two, or if two that follow each other coincide.
pub(super) fn through(points: &[[f64; 3]], tangents: [Option<[f64; 3]>; 2], spacing: Spacing) -> Option<Cubic> {
    let steps: Vec<f64> = points
        .windows(2)
        .map(|pair| {
            let chord = (0..3).map(|axis| (pair[1][axis] - pair[0][axis]).powi(2)).sum::<f64>().sqrt();
            if chord == 0.0 {
                0.0
            } else if spacing == Spacing::Uniform {
                1.0
            } else {
                chord.sqrt()
            }
        })
        .collect();
    if steps.is_empty() || steps.iter().any(|step| !(*step > 0.0 && step.is_finite())) {
        return None;
    }
    let mut derivatives = vec![[0.0; 3]; points.len()];
    for axis in 0..3 {
        let values: Vec<f64> = points.iter().map(|point| point[axis]).collect();
        let ends = tangents.map(|tangent| tangent.map(|tangent| tangent[axis]));
        for (derivative, value) in derivatives.iter_mut().zip(slopes(&values, &steps, ends)) {
            derivative[axis] = value;
        }
    }
    let mut control_points = vec![points[0]];
    let mut knots = vec![0.0; 4];
    for (index, step) in steps.iter().enumerate() {
        let along = |at: usize, part: f64| -> [f64; 3] {
            std::array::from_fn(|axis| points[at][axis] + derivatives[at][axis] * part)
        };
        control_points.extend([along(index, step / 3.0), along(index + 1, -step / 3.0), points[index + 1]]);
        let end = knots.last().copied().unwrap_or(0.0) + step;
        knots.extend([end; 3]);
    }
    knots.push(knots.last().copied().unwrap_or(0.0));
    Some(Cubic { control_points, knots })
}

/// First derivatives of the cubic spline through `values`: clamped to `ends`, or with no curvature there.
/// Tridiagonal, solved by elimination (Thomas).
fn slopes(values: &[f64], steps: &[f64], ends: [Option<f64>; 2]) -> Vec<f64> {
    let last = values.len() - 1;
    let rise = |index: usize| (values[index + 1] - values[index]) / steps[index];
    // Rows (below, on and above the diagonal, right side).
    let row = |index: usize| match (index, ends) {
        (0, [Some(slope), _]) => [0.0, 1.0, 0.0, slope],
        (0, [None, _]) => [0.0, 2.0, 1.0, 3.0 * rise(0)],
        (index, [_, Some(slope)]) if index == last => [0.0, 1.0, 0.0, slope],
        (index, [_, None]) if index == last => [1.0, 2.0, 0.0, 3.0 * rise(index - 1)],
        (index, _) => {
            let (before, after) = (steps[index - 1], steps[index]);
            let right = 3.0 * (after * rise(index - 1) + before * rise(index));
            [after, 2.0 * (before + after), before, right]
        }
    };
    let mut above = vec![0.0; values.len()];
    let mut right = vec![0.0; values.len()];
    for index in 0..values.len() {
        let [below, on, next, value] = row(index);
        let (previous_above, previous_right) =
            if index == 0 { (0.0, 0.0) } else { (above[index - 1], right[index - 1]) };
        let pivot = on - below * previous_above;
        above[index] = next / pivot;
        right[index] = (value - below * previous_right) / pivot;
    }
    for index in (0..last).rev() {
        right[index] -= above[index] * right[index + 1];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_with_tangents_are_a_hermite_curve() {
        let points = [[250.458_790_783, 17.426_024_185, 0.0], [259.224_551_11, 27.287_504_552, 0.0]];
        let tangents = [Some([12.764_940_979, 32.486_871_541, 0.0]), Some([-0.490_238_931, 29.353_149_111, 0.0])];
        let curve = through(&points, tangents, Spacing::Uniform).unwrap();
        assert!((curve.control_points[1][0] - 254.713_771_11).abs() < 1e-6, "{curve:?}");
        assert!((curve.control_points[2][0] - 259.387_964_087).abs() < 1e-6, "{curve:?}");
        assert_eq!(curve.knots, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn points_on_a_line_stay_on_it_and_coinciding_ones_are_refused() {
        let points = [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [4.0, 4.0, 0.0]];
        for spacing in [Spacing::Uniform, Spacing::SquareRoot] {
            let curve = through(&points, [None, None], spacing).unwrap();
            assert_eq!((curve.control_points.len(), curve.knots.len()), (7, 11));
            assert!(curve.control_points.iter().all(|point| (point[0] - point[1]).abs() < 1e-12));
        }
        assert_eq!(through(&points[..1], [None, None], Spacing::Uniform), None);
        assert_eq!(through(&[[1.0; 3], [1.0; 3]], [None, None], Spacing::Uniform), None);
    }
}
