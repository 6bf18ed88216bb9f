//! A campus: levels of buildings as plans with paths (`B01/L00.dxf`), named lazily.

use super::random::Random;
use super::spec::{Format, Spec};

/// How many buildings and levels, and what they have in common.
#[derive(Debug, Clone)]
pub struct Campus {
    /// Buildings.
    pub buildings: u32,
    /// Levels of each building, from the ground floor up.
    pub levels: u32,
    /// What all plans share; `seed` decides the rest. Style choices that are open are drawn once a building.
    pub base: Spec,
}

/// One plan of a campus.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Path without extension, such as `B01/L00`.
    pub path: String,
    /// What to generate.
    pub spec: Spec,
}

impl Campus {
    /// All plans, in the order of their paths.
    pub fn plans(&self) -> impl Iterator<Item = Plan> + '_ {
        (0..self.buildings).flat_map(move |building| (0..self.levels).map(move |level| self.plan(building, level)))
    }

    fn plan(&self, building: u32, level: u32) -> Plan {
        let random = Random::new(self.base.seed).fork(&format!("building {building}"));
        let building_seed = random.fork("outline").next_u64() >> 12;
        let seed = random.fork(&format!("level {level}")).next_u64() >> 12;
        let format = self.base.format.unwrap_or_else(|| *random.fork("format").pick(&[Format::Dxf, Format::Svg]));
        let spec = Spec {
            seed,
            building_seed: Some(building_seed),
            level: level as i32,
            format: Some(format),
            ..self.base.clone()
        };
        Plan { path: format!("B{:02}/L{level:02}", building + 1), spec }
    }
}
