/// What is known of a person's body that results depend on.
package struct Physiology: Hashable, Sendable {
    package var zones: HeartRateZones?
    package var energy: EnergyEstimate?

    /// Nothing is known.
    package init() {}

    /// What the profile in a session's state says, as of the day the session began.
    package init(_ state: SessionState) {
        guard let profile = state.profile else { return }
        let start = state.startedAt ?? state.segments.first?.start
        zones = HeartRateZones(profile, startedAt: start)
        energy = EnergyEstimate(profile, activity: state.activity, startedAt: start)
    }
}
