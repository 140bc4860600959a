import AsyncHTTPClient
import Bus
import Client
import Formats
import Foundation
import MQTT
import NIOCore
import NIOHTTP1
import ServiceKit
import Workouts

/// Uploads workouts over HTTP, each as one file in a form.
///
/// The form has the fields `file`, `name` (of the workout) and `external_id` (user/session).
struct UploadTarget: ExportTarget {
    static let name = Target.upload
    static let policy = ExportPolicy.once
    /// Uploads that wait for a slow server.
    static let concurrency = 16

    /// The timeout of a request, besides the time that its file takes.
    static let timeout = Duration.seconds(60)
    /// The slowest connection that gets a file through, in bytes a second.
    static let minimumBandwidth = 16_384
    /// The largest file, in bytes. Forty hours with an item a second take half of it as JSON.
    static let sizeLimit = 64 << 20

    let url: String
    let format: ExportFormat
    let credentials: UploadCredentials
    let clock: any WallClock
    let client: HTTPClient
    let timeout: Duration
    var minimumBandwidth = Self.minimumBandwidth
    /// The folder of temporary files.
    let folder: String
    let encode: @Sendable (ExportFormat, ExportedWorkout, OpenFile) throws -> Void

    /// The configuration of the HTTP client.
    static var http: HTTPClient.Configuration {
        var pool = HTTPClient.Configuration.ConnectionPool()
        // The machine decides about retries.
        pool.retryConnectionEstablishment = false
        // Credentials are for one address only.
        return HTTPClient.Configuration(redirectConfiguration: .disallow, connectionPool: pool)
    }

    init?(_ configuration: ExportConfiguration, _ resources: ExportResources) {
        guard let upload = configuration.upload else { return nil }
        self.init(upload, resources)
    }

    init(
        _ configuration: ExportConfiguration.Upload, _ resources: ExportResources,
        encode: @escaping @Sendable (ExportFormat, ExportedWorkout, OpenFile) throws -> Void = {
            try $0.write($1, to: $2)
        }
    ) {
        url = configuration.url
        format = configuration.format
        credentials = UploadCredentials(folder: configuration.credentials)
        clock = resources.clock
        client = resources.client
        timeout = resources.uploadTimeout
        folder = resources.folder
        self.encode = encode
    }

    /// Users with credentials have their workouts uploaded.
    func takes(_ user: User) async -> Bool { await onFileThread { credentials.has(user) } }

    /// Uploads a workout; the header `Idempotency-Key` is the same for every attempt, also of another process.
    func deliver(
        _ workout: ExportedWorkout, idempotencyKey: String, fence: DeliveryFence, allowance: ByteAllowance
    ) async -> Delivery {
        let user = workout.workout.user
        do {
            let authorization = try await onFileThread { () throws(UploadCredentials.Problem) in
                try credentials.authorization(of: user)
            }
            let form = try await onFileThread { try makeForm(workout, allowance) }
            let time = timeout + .seconds(Double(form.count) / Double(minimumBandwidth))
            let message = request(form, idempotencyKey, authorization)
            return outcome(try await answer(to: message, within: time), user)
        } catch UploadCredentials.Problem.unusable(let reason) {
            return .refused(reason)
        } catch let error as TooLarge {
            return .refused("\(error)")
        } catch UploadCredentials.Problem.unreadable(let reason) {
            return .failed(reason)
        } catch let problem as DurableFolder.Problem {
            return .failed("cannot write the file: \(String(cString: strerror(problem.code)))")
        } catch is PayloadError {
            return .corrupt
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            return .failed("\(host): timeout")
        } catch let error as HTTPClientError {
            return .failed("\(host): \(error.shortDescription)")
        } catch let error as IOError {
            return .failed("\(host): \(String(cString: strerror(error.errnoCode)))")
        } catch {
            // For example TLS. The texts of such errors are meant for the library's developers.
            return .failed("\(host): no connection (\(type(of: error)))")
        }
    }

    private struct TooLarge: Error, CustomStringConvertible {
        let count: Int

        var description: String { "the file has \(count) bytes; uploads have at most \(sizeLimit)" }
    }

    /// The workout as a file in a form.
    private func makeForm(_ workout: ExportedWorkout, _ allowance: ByteAllowance) throws -> MultipartForm {
        let content = try OpenFile.temporary(in: folder, mayGrow: allowance.spend)
        try encode(format, workout, content)
        guard content.count <= Self.sizeLimit else { throw TooLarge(count: content.count) }
        let record = workout.workout
        return try MultipartForm(
            .init(name: ExportFile(record, format).name, mediaType: format.mediaType, content: content),
            [("name", record.name), ("external_id", "\(record.user)/\(record.session)")],
            boundary: "pacebus-\(record.session)")
    }

    private func request(_ form: MultipartForm, _ key: String, _ authorization: Secret) -> HTTPClientRequest {
        var message = HTTPClientRequest(url: url)
        message.method = .POST
        message.headers.add(name: "Authorization", value: authorization.value)
        message.headers.add(name: "Content-Type", value: form.mediaType)
        message.headers.add(name: "Idempotency-Key", value: key)
        message.headers.add(name: "User-Agent", value: "pacebus/\(pacebusVersion)")
        message.body = .stream(form, length: .known(Int64(form.count)))
        return message
    }

    /// The head of the answer. The status decides; the body is not read.
    private func answer(to message: HTTPClientRequest, within time: Duration) async throws -> Answer {
        let response = try await client.execute(message, timeout: TimeAmount(time))
        return Answer(status: Int(response.status.code), retryAfter: response.headers.first(name: "Retry-After"))
    }

    private struct Answer {
        let status: Int
        let retryAfter: String?
    }

    private func outcome(_ answer: Answer, _ user: User) -> Delivery {
        // The server's own reason phrase may contain anything.
        let phrase = HTTPResponseStatus(statusCode: answer.status).reasonPhrase
        let title = phrase.isEmpty ? "\(answer.status)" : "\(answer.status) \(phrase)"
        switch answer.status {
        case 200..<300, 409: return .delivered()
        case 300..<400: return .refused("\(title): redirects are not followed, to protect the credentials")
        case 401: return .refused("\(title): the server rejects the credentials of '\(user)'")
        case 403: return .refused("\(title): the server does not permit uploads of '\(user)'")
        case 404, 405, 410: return .refused("\(title): the server takes no uploads at this address")
        case 408, 425, 429, 500..<600:
            return .failed(title, retryAfter: answer.retryAfter.flatMap(RetryAfter.init)?.seconds(from: clock.now))
        case 413: return .refused("\(title): the file is too large for the server")
        case 400..<500: return .refused("\(title): the server rejects the file")
        default: return .failed("\(title): unexpected status")
        }
    }

    /// The host for reasons. The rest of the address may be secret.
    private var host: String { URL(string: url)?.host ?? "upload" }
}

extension Target {
    /// An HTTP upload.
    static let upload = Target("upload")!
}
