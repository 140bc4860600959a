import Bus
import Workouts

extension JSONWriter {
    /// The fields of a content state in the order of their keys.
    mutating func fields(of state: ContentState) {
        field("activeEnergy", finite: state.activeEnergy)
        field("asOf", finite: state.asOf)
        field("ascent", finite: state.ascent)
        field("averageHeartRate", finite: state.averageHeartRate)
        if let banner = state.banner { field("banner", plain: banner.rawValue) }
        field("cadence", finite: state.cadence)
        field("distance", finite: state.distance)
        field("elapsedTime", finite: state.elapsedTime)
        field("heartRate", finite: state.heartRate)
        field("isFinished", state.isFinished)
        field("isPaused", state.isPaused)
        field("lap", Int64(state.lap))
        field("maximumHeartRate", finite: state.maximumHeartRate)
        field("pace", finite: state.pace)
        field("power", finite: state.power)
        field("speed", finite: state.speed)
        field("units", plain: state.units.rawValue)
    }
}
