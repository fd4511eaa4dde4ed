# frozen_string_literal: true

ActiveRecord::Schema[8.0].define(version: 1) do
  create_table "products", force: :cascade do |t|
    t.string "title", null: false
    t.decimal "price", precision: 8, scale: 2, null: false
  end

  create_table "orders", force: :cascade do |t|
    t.references "product", null: false
    t.string "email", null: false
    t.string "invoice"
  end

  # Those of Solid Queue, as the gem that is installed has them.
  template = File.join(Gem.loaded_specs["solid_queue"].gem_dir, "lib/generators/solid_queue/install/templates/db/queue_schema.rb")
  instance_eval(File.read(template)[/do\n(.*)end\s*\z/m, 1], template, 2)
end
