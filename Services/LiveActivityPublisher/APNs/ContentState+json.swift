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
        if let block = state.block {
            field("exercise", text: block.cue.exercise, limit: 256)
            field("exercisesDone", Int64(block.done))
            field("exercisesTotal", Int64(block.total))
        }
        field("gapMeters", finite: state.partner?.gapMeters)
        field("gapSeconds", finite: state.partner?.gapSeconds)
        field("heartRate", finite: state.heartRate)
        field("isFinished", state.isFinished)
        field("isPaused", state.isPaused)
        field("lap", Int64(state.lap))
        field("maximumHeartRate", finite: state.maximumHeartRate)
        field("pace", finite: state.pace)
        if let partner = state.partner { field("partner", text: partner.name, limit: 64) }
        if let block = state.block {
            field("phase", plain: block.cue.phase.rawValue)
            field("phaseEndsAt", finite: block.phaseEndsAt)
            field("phaseRemaining", finite: block.phaseRemaining)
        }
        if let place = state.partner?.place { field("place", Int64(place)) }
        field("power", finite: state.power)
        if let block = state.block {
            field("round", Int64(block.cue.round))
            if let rounds = block.rounds { field("rounds", Int64(rounds)) }
        }
        if let partner = state.partner { field("runners", Int64(partner.runners)) }
        if let block = state.block {
            if let set = block.cue.set { field("set", Int64(set)) }
            field("sets", Int64(block.sets))
        }
        field("speed", finite: state.speed)
        field("units", plain: state.units.rawValue)
    }
}
